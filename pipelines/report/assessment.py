"""The assessment at the head of the report: one line per aspect of the dataset, and one sentence over all of them.

The limits in this file decide only how the page words an aspect. The thresholds of the build decide what is kept.
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
from pipelines.report.totals import LanguageTotals, SourceTotals, SplitTotals
from pipelines.tables.columns import DatasetRows
from pipelines.validation.findings import ValidationReport
from shared.dataset import Dataset
from shared.files import file_sha256
from shared.messages import counted, first_few

FEW_REJECTED = 0.01
FEW_UNKNOWN = 1e-4  # of the tokens
GOOD_SNR_DB = 20.0  # the median
FULL_BANDWIDTH = 0.75  # of the mel's highest frequency
FEW_NARROW = 0.05
# Below this a language is called small. LJSpeech, the usual corpus of one voice, has 24 hours.
ENOUGH_SPEECH_S = 3600.0
SHOWN_LANGUAGES = 3

OK, UNKNOWN, WARNING, ERROR = "ok", "unknown", "warning", "error"


class Aspect(NamedTuple):
    """One thing to know before training."""

    level: str
    title: str
    detail: str


class Assessment(NamedTuple):
    level: str
    sentence: str
    aspects: list[Aspect]  # errors first, then warnings, then what was not checked


class Totals(NamedTuple):
    """The tables of the page that the assessment is made from."""

    sources: Sequence[SourceTotals]
    splits: Sequence[SplitTotals]
    languages: Sequence[LanguageTotals]
    reasons: Sequence[ReasonTotals]
    texts: Sequence[TextIssues]
    repetitions: RepetitionTotals


def assess_dataset(dataset: Dataset, *, kept: DatasetRows, totals: Totals) -> Assessment:
    """Assess every aspect and summarise them in one sentence."""
    aspects = [
        _validation(dataset),
        *_amount(totals.languages),
        _rejected(totals.reasons, read=sum(source.read for source in totals.sources)),
        _splits(totals.splits),
        *_languages_without_validation(totals),
        _leaks(totals.repetitions),
        _copies(totals.repetitions),
        _unknown_tokens(totals.texts),
        *_unread_numbers(totals.texts),
        _noise(kept),
        _bandwidth(kept, fmax_hz=dataset.info.contract.features.fmax_hz),
        *_speaking_rate(dataset, totals.languages),
    ]
    ordered = sorted(aspects, key=lambda aspect: (ERROR, WARNING, UNKNOWN, OK).index(aspect.level))
    return Assessment(*summarise(ordered), ordered)


def summarise(aspects: Sequence[Aspect]) -> tuple[str, str]:
    """The level and the sentence of the whole; "ready" only if every aspect was checked and is fine."""
    errors = [aspect.title for aspect in aspects if aspect.level == ERROR]
    warnings = sum(aspect.level == WARNING for aspect in aspects)
    unknown = sum(aspect.level == UNKNOWN for aspect in aspects)
    not_checked = f"{counted(unknown, 'aspect')} {'were' if unknown > 1 else 'was'} not checked"
    if errors:
        return ERROR, f"Not ready: {errors[0][0].lower()}{errors[0][1:]}"
    if warnings:
        return WARNING, f"Usable, with {counted(warnings, 'warning')}" + f"; {not_checked}" * bool(unknown)
    if unknown:
        return UNKNOWN, f"No problem found, but {not_checked}"
    return OK, "Ready for training: every aspect was checked and is fine"


def _validation(dataset: Dataset) -> Aspect:
    report = latest_validation(dataset)
    if report is None:
        return Aspect(UNKNOWN, "Not validated since the build", "Run make validate: it checks every byte.")
    when = report.finished[:16].replace("T", " ")
    if report.findings:
        first = report.findings[0]
        title = f"Validation has {counted(len(report.findings), 'finding')}"
        return Aspect(ERROR, title, f"{when}: {first.file}: {first.message}")
    shards = counted(report.shards, "shard")
    return Aspect(OK, "Validated without findings", f"{when}: {counted(report.records, 'record')} in {shards}")


def publication_time(dataset: Dataset) -> datetime.datetime:
    """The time at which the dataset was published, or copied to its folder."""
    return datetime.datetime.fromtimestamp(dataset.layout.success.stat().st_mtime, datetime.UTC)


def dataset_state(dataset: Dataset) -> str:
    """Identify what a page describes: the sha256 of `_SUCCESS`, which covers all files, and the last validation."""
    report = latest_validation(dataset)
    return f"{file_sha256(dataset.layout.success)} {report.finished if report else 'not validated'}"


def latest_validation(dataset: Dataset) -> ValidationReport | None:
    """The last validation of this build; None if it was never validated."""
    built = publication_time(dataset)
    for path in sorted(dataset.layout.validation.glob("*.json"), reverse=True):
        try:
            report = ValidationReport.model_validate_json(path.read_bytes())
            finished = datetime.datetime.fromisoformat(report.finished)
        except (OSError, ValueError, pydantic.ValidationError):
            continue
        return report if report.fingerprint == dataset.info.fingerprint and finished >= built else None
    return None


def _amount(languages: Sequence[LanguageTotals]) -> Iterator[Aspect]:
    """One aspect per dataset: the languages with less than `ENOUGH_SPEECH_S`, the smallest first."""
    kept = [row for row in languages if row.records]
    small = sorted((row for row in kept if row.seconds < ENOUGH_SPEECH_S), key=lambda row: row.seconds)
    if small:
        amounts = [
            f"{row.code or 'not stated'}: {counted(row.records, 'record')}, {_duration(row.seconds)}" for row in small
        ]
        listed = first_few(amounts, most=SHOWN_LANGUAGES, separator="; ")
        title = f"Less than an hour of speech in {len(small)} of {counted(len(kept), 'language')}"
        yield Aspect(WARNING, title, f"{listed}. A corpus of one voice usually has 10 hours or more.")
    elif kept:
        total = sum(row.seconds for row in kept)
        yield Aspect(OK, f"{_duration(total)} of speech", f"An hour or more in every language ({len(kept)})")


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < ENOUGH_SPEECH_S else f"{seconds / 3600:,.1f} h"


def _rejected(reasons: Sequence[ReasonTotals], *, read: int) -> Aspect:
    errors = [row for row in reasons if row.is_error]
    count = sum(row.utterances for row in errors)
    fraction = count / max(read, 1)
    most = ", ".join(f"{row.utterances:,} {row.reason.replace('_', ' ')}" for row in errors[:3])
    others = sum(row.utterances for row in reasons) - count
    excluded = f"; the config leaves out {others:,} more" if others else ""
    title = f"{format_percent(fraction)} of the utterances were rejected" if count else "No utterance was rejected"
    detail = f"{count:,} of {read:,}" + f": {most}" * bool(most) + excluded
    return Aspect(OK if fraction <= FEW_REJECTED else WARNING, title, detail)


def _splits(splits: Sequence[SplitTotals]) -> Aspect:
    by_name = {split.name: split for split in splits}
    validation = by_name["validation"]
    if not by_name["train"].records or not validation.records:
        empty = "validation" if by_name["train"].records else "training"
        return Aspect(WARNING, f"There is no {empty} split", "Set validation_fraction in the config and build again.")
    seconds = sum(split.seconds for split in splits)
    held_out = [one for one in splits if one.name != "train"]
    first, *others = (f"{format_percent(one.seconds / seconds)}" for one in held_out)
    title = ", ".join([f"{first} of the speech is held out for validation", *(f"{one} for test" for one in others)])
    first, *others = (counted(one.records, "record") for one in held_out)
    return Aspect(OK, title, ", ".join([first, *(f"{one} for test" for one in others)]))


def _languages_without_validation(totals: Totals) -> Iterator[Aspect]:
    """Languages that are trained on but never validated; none if there is no validation split at all."""
    if not any(split.records for split in totals.splits if split.name == "validation"):
        return
    absent = [row.code for row in totals.languages if row.records and not row.validation_s]
    if absent:
        listed = first_few(absent, most=SHOWN_LANGUAGES)
        title = f"No validation records in {counted(len(absent), 'language')}"
        yield Aspect(WARNING, title, f"{listed}: the validation loss says nothing about them.")


def _leaks(repetitions: RepetitionTotals) -> Aspect:
    if not repetitions.leaks:
        return Aspect(OK, "No text occurs in two splits", "No record has the text of a record in a later split.")
    title = f"{counted(repetitions.leaks, 'record')} with the text of a record that is held out"
    return Aspect(WARNING, title, "Set checks.reject_text_leaks=true, or, unless sources state splits, split_by=text.")


def _copies(repetitions: RepetitionTotals) -> Aspect:
    if not repetitions.is_compared:
        return Aspect(UNKNOWN, "Not searched for duplicate recordings", "checks.min_duplicate_bits is null.")
    if repetitions.copies:
        title = f"{counted(repetitions.copies, 'duplicate recording')}"
        return Aspect(WARNING, title, "checks.min_duplicate_bits keeps one recording of each.")
    filtered = repetitions.filtered_copies
    found = f"{counted(filtered, 'duplicate')} filtered." if filtered else "None was found."
    return Aspect(OK, "No duplicate recordings", found)


def _unknown_tokens(texts: Sequence[TextIssues]) -> Aspect:
    affected = [row for row in texts if row.unknown_fraction > FEW_UNKNOWN]
    if affected:
        listed = affected[:SHOWN_LANGUAGES]
        shares = ", ".join(f"{row.code} {format_percent(row.unknown_fraction, digits=2)}" for row in listed)
        return Aspect(WARNING, "Some characters have no token", f"Share of <unk> among the tokens: {shares}")
    count = sum(row.unknown_tokens for row in texts)
    return Aspect(OK, "The tokenizer covers the texts", f"{count:,} <unk> tokens")


def _unread_numbers(texts: Sequence[TextIssues]) -> Iterator[Aspect]:
    affected = sorted((row for row in texts if row.unread_records), key=lambda row: -row.unread_records)
    if affected:
        records = first_few([f"{row.code} {row.unread_records:,}" for row in affected], most=SHOWN_LANGUAGES)
        yield Aspect(WARNING, "Some numbers are not written out", f"Records with numbers in digits: {records}")


def _noise(kept: DatasetRows) -> Aspect:
    low, middle = np.percentile(kept.numbers("snr_db"), (5, 50)) if len(kept.table) else (0.0, 0.0)
    level = OK if middle >= GOOD_SNR_DB else WARNING
    return Aspect(level, f"Median SNR {middle:.0f} dB", f"95\u202f% of the records have {low:.0f} dB or more.")


def _bandwidth(kept: DatasetRows, *, fmax_hz: float) -> Aspect:
    edge_hz = FULL_BANDWIDTH * fmax_hz
    narrow = float(np.mean(kept.numbers("bandwidth_hz") < edge_hz)) if len(kept.table) else 0.0
    level = OK if narrow <= FEW_NARROW else WARNING
    title = "Full bandwidth" if level == OK else "Some recordings have less bandwidth than the mel"
    limits = f"{edge_hz / 1000:g} kHz; the mel reaches {fmax_hz / 1000:g} kHz"
    return Aspect(level, title, f"{format_percent(narrow)} of the records have nothing above {limits}.")


def _speaking_rate(dataset: Dataset, languages: Sequence[LanguageTotals]) -> Iterator[Aspect]:
    """Speaking rates are checked only where a source has enough records in a language."""
    checked = {code for ranges in dataset.info.selection.characters_per_second.values() for code in ranges}
    kept = [row.code for row in languages if row.records]
    unchecked = [code for code in kept if code not in checked]
    if unchecked and dataset.info.selection.checks.get("characters_per_second_deviations") is None:
        detail = "checks.characters_per_second_deviations is not set."
        yield Aspect(UNKNOWN, "Speaking rates were not checked", detail)
    elif unchecked:
        title = f"Speaking rates were not checked in {len(unchecked)} of {counted(len(kept), 'language')}"
        listed = first_few(unchecked, most=SHOWN_LANGUAGES)
        yield Aspect(UNKNOWN, title, f"{listed}: no source has enough records to tell a usual rate.")
