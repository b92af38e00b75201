"""Is this dataset good? What speaks for it and against it, one line each.

The limits here decide only the tone of the page; what is kept was decided by the thresholds of the build.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pydantic

from pipelines.html.numbers import format_percent
from pipelines.report.rejections import ReasonTotals
from pipelines.report.text_issues import RepetitionTotals, TextIssues
from pipelines.report.totals import SourceTotals, SplitTotals
from pipelines.tables.columns import DatasetRows
from pipelines.validation.findings import ValidationReport
from shared.dataset import Dataset
from shared.files import file_sha256

FEW_REJECTED = 0.01
FEW_UNKNOWN = 1e-4  # of the tokens
GOOD_SNR_DB = 20.0  # the median
FULL_BANDWIDTH = 0.75  # of the mel's highest frequency
FEW_NARROW = 0.05

GOOD, OPEN, LOOK, BAD = "good", "open", "look", "bad"


class Note(NamedTuple):
    """One thing to know before training."""

    level: str
    title: str
    detail: str
    origin: str  # file and column


class Assessment(NamedTuple):
    level: str
    sentence: str
    notes: list[Note]


def assess_dataset(
    dataset: Dataset,
    *,
    kept: DatasetRows,
    sources: Sequence[SourceTotals],
    splits: Sequence[SplitTotals],
    reasons: Sequence[ReasonTotals],
    texts: Sequence[TextIssues],
    repetitions: RepetitionTotals,
) -> Assessment:
    """All notes, and a sentence over them."""
    notes = [
        _validation(dataset),
        _rejected(reasons, read=sum(source.read for source in sources)),
        _splits(splits),
        _leaks(repetitions),
        _copies(repetitions),
        _unknown(texts),
        *_unread(texts),
        _noise(kept),
        _bandwidth(kept, fmax_hz=dataset.info.contract.features.fmax_hz),
    ]
    # what asks for attention comes first
    return Assessment(*_sentence(notes), sorted(notes, key=lambda note: (BAD, LOOK, OPEN, GOOD).index(note.level)))


def _sentence(notes: Sequence[Note]) -> tuple[str, str]:
    bad = [note.title for note in notes if note.level == BAD]
    look = sum(note.level == LOOK for note in notes)
    if bad:
        return BAD, f"Not ready: {bad[0][0].lower()}{bad[0][1:]}"
    if look:
        return LOOK, f"Usable, with {look} thing{'s' * (look > 1)} to look at"
    return GOOD, "Good: nothing stands in the way of training"


def _validation(dataset: Dataset) -> Note:
    report, origin = latest_validation(dataset), "validation/*.json · findings"
    if report is None:
        return Note(OPEN, "Not validated since it was built", "run make validate", origin)
    when = report.finished[:16].replace("T", " ")
    if report.findings:
        first = report.findings[0]
        count = f"{len(report.findings):,} finding{'s' * (len(report.findings) > 1)}"
        return Note(BAD, f"Validation has {count}", f"{when}: {first.file}: {first.message}", origin)
    return Note(GOOD, "Validated clean", f"{when}: {report.records:,} records in {report.shards:,} shards", origin)


def publication_time(dataset: Dataset) -> datetime.datetime:
    """When the dataset was published, or copied to where it is."""
    return datetime.datetime.fromtimestamp(dataset.layout.success.stat().st_mtime, datetime.UTC)


def dataset_state(dataset: Dataset) -> str:
    """What a page is of: the sha256 of `_SUCCESS`, which holds those of all files, and when that was last validated."""
    report = latest_validation(dataset)
    return f"{file_sha256(dataset.layout.success)} {report.finished if report else 'not validated'}"


def latest_validation(dataset: Dataset) -> ValidationReport | None:
    """The last validation of this very build."""
    built = publication_time(dataset)
    for path in sorted(dataset.layout.validation.glob("*.json"), reverse=True):
        try:
            report = ValidationReport.model_validate_json(path.read_bytes())
            finished = datetime.datetime.fromisoformat(report.finished)
        except (OSError, ValueError, pydantic.ValidationError):
            continue
        return report if report.fingerprint == dataset.info.fingerprint and finished >= built else None
    return None


def _rejected(reasons: Sequence[ReasonTotals], *, read: int) -> Note:
    faults = [row for row in reasons if row.is_error]
    count = sum(row.utterances for row in faults)
    fraction = count / max(read, 1)
    level = GOOD if fraction <= FEW_REJECTED else LOOK
    most = ", ".join(f"{row.utterances:,} {row.reason}" for row in faults[:3])
    others = sum(row.utterances for row in reasons) - count
    left_out = f"; {others:,} more were not asked for" if others else ""
    title = (
        f"{format_percent(fraction)} of the utterances were turned away" if count else "No utterance was turned away"
    )
    return Note(
        level, title, f"{count:,} of {read:,}" + f": {most}" * bool(most) + left_out, "rejected/*.parquet · reason"
    )


def _splits(splits: Sequence[SplitTotals]) -> Note:
    origin = "manifest/*.parquet · split, duration_s"
    total = sum(split.seconds for split in splits)
    by_name = {split.name: split for split in splits}
    validation = by_name["validation"]
    if not by_name["train"].records or not validation.records:
        empty = "validation" if by_name["train"].records else "training"
        return Note(LOOK, f"There is no {empty} split", "set validation_fraction", origin)
    share = validation.seconds / total
    return Note(GOOD, f"{format_percent(share)} is held out for validation", f"{validation.records:,} records", origin)


def _leaks(repetitions: RepetitionTotals) -> Note:
    origin = "manifest/*.parquet · text_leaks"
    if not repetitions.leaks:
        return Note(GOOD, "No text stands in both splits", "what validation says, training never heard", origin)
    title = f"{repetitions.leaks:,} training record{'s' * (repetitions.leaks > 1)} say what validation says"
    return Note(LOOK, title, "split_by text or checks.reject_text_leaks keeps them apart", origin)


def _copies(repetitions: RepetitionTotals) -> Note:
    origin = "manifest/*.parquet, withheld/*.parquet · duplicate_bits"
    if repetitions.copies:
        title = f"{repetitions.copies:,} recording{'s stand' if repetitions.copies > 1 else ' stands'} twice"
        return Note(LOOK, title, "checks.min_duplicate_bits keeps one of each", origin)
    aside = f"{repetitions.withheld_copies:,} copies are withheld" if repetitions.withheld_copies else "none was found"
    return Note(GOOD, "No recording stands twice", aside, origin)


def _unknown(texts: Sequence[TextIssues]) -> Note:
    origin = "manifest/*.parquet · unknown_tokens, tokens"
    affected = [row for row in texts if row.unknown_fraction > FEW_UNKNOWN]
    if affected:
        shares = ", ".join(f"{row.code} {format_percent(row.unknown_fraction, digits=2)}" for row in affected[:3])
        return Note(LOOK, "Some characters have no token", f"share of <unk> among the tokens: {shares}", origin)
    count = sum(row.unknown_tokens for row in texts)
    return Note(GOOD, "The tokenizer knows the texts", f"{count:,} <unk> tokens", origin)


def _unread(texts: Sequence[TextIssues]) -> Iterator[Note]:
    affected = sorted((row for row in texts if row.unread_records), key=lambda row: -row.unread_records)
    if affected:
        records = ", ".join(f"{row.code} {row.unread_records:,}" for row in affected[:3])
        detail = f"records with numbers in digits, which are said otherwise: {records}"
        yield Note(LOOK, "Some numbers are not written out", detail, "manifest/*.parquet · unread_numbers")


def _noise(kept: DatasetRows) -> Note:
    low, middle = np.percentile(kept.numbers("snr_db"), (5, 50)) if len(kept.table) else (0.0, 0.0)
    level = GOOD if middle >= GOOD_SNR_DB else LOOK
    detail = f"95\u202f% of the records have {low:.0f} dB or more"
    return Note(level, f"Median SNR {middle:.0f} dB", detail, "manifest/*.parquet · snr_db")


def _bandwidth(kept: DatasetRows, *, fmax_hz: float) -> Note:
    edge_hz = FULL_BANDWIDTH * fmax_hz
    narrow = float(np.mean(kept.numbers("bandwidth_hz") < edge_hz)) if len(kept.table) else 0.0
    level = GOOD if narrow <= FEW_NARROW else LOOK
    title = "The recordings fill the mel" if level == GOOD else "Some recordings do not fill the mel"
    band = f"{edge_hz / 1000:g} kHz; the mel goes to {fmax_hz / 1000:g}"
    detail = f"{format_percent(narrow)} of the records carry nothing above {band}"
    return Note(level, title, detail, "manifest/*.parquet · bandwidth_hz")
