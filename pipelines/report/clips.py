"""The clips of the report: the worst of every check, a sample of all, and what the checks filtered.

The page embeds every clip, so their number is bounded. The script of the page searches, sorts and narrows them.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Container, Iterator
from typing import NamedTuple

import numpy as np

from pipelines.html.clips import Clip, make_clip
from pipelines.tables.columns import DatasetRows
from preprocess.checks import ALL_BOUNDS
from preprocess.quality import HASH_BITS
from shared.dataset import Dataset

SAMPLE_CLIPS = 12
# The sample takes its clips from the first so many records of each source and language.
SAMPLE_POOL = 64
WORST_PER_CHECK = 2
FILTERED_PER_REASON = 2
SHOWN_REASONS = 6
RATE = "characters_per_second"
# Columns beside `RECORD_COLUMNS` that the checks below read.
EXTRA_COLUMNS = ("clipped_fraction", "silence_fraction")


class ClipCheck(NamedTuple):
    """One aspect by which kept records are ranked, the worst first."""

    name: str
    column: str
    lowest_first: bool
    harmless: float | None = None  # records with this value have nothing to show for the check

    @property
    def slug(self) -> str:
        return self.name.replace(" ", "-").lower()


CLIP_CHECKS = (
    ClipCheck("lowest SNR", "snr_db", lowest_first=True),
    ClipCheck("slowest", RATE, lowest_first=True),
    ClipCheck("fastest", RATE, lowest_first=False),
    ClipCheck("most clipping", "clipped_fraction", lowest_first=False, harmless=0),
    ClipCheck("most silence", "silence_fraction", lowest_first=False, harmless=0),
    ClipCheck("narrowest band", "bandwidth_hz", lowest_first=True),
    ClipCheck("quietest", "rms_db", lowest_first=True),
    ClipCheck("shortest", "duration_s", lowest_first=True),
    ClipCheck("longest", "duration_s", lowest_first=False),
    ClipCheck("most unknown tokens", "unknown_tokens", lowest_first=False, harmless=0),
    ClipCheck("nearest duplicate", "duplicate_bits", lowest_first=True, harmless=HASH_BITS),
)


class RankedClip(NamedTuple):
    """A clip with its rank, from 1, in each check that it is among the worst of."""

    clip: Clip
    ranks: dict[str, int]  # by the slug of the check


class ClipGallery(NamedTuple):
    """The clips of the page; every record occurs once."""

    worst: list[RankedClip]
    sample: list[RankedClip]
    filtered: list[RankedClip]

    @property
    def clips(self) -> list[Clip]:
        return [ranked.clip for ranked in (*self.worst, *self.sample, *self.filtered)]

    @property
    def checks(self) -> list[ClipCheck]:
        """The checks that any clip is ranked by."""
        return [check for check in CLIP_CHECKS if any(check.slug in ranked.ranks for ranked in self.worst)]


def make_gallery(
    dataset: Dataset, *, kept: DatasetRows, filtered: DatasetRows, reasons: dict[str, np.ndarray]
) -> ClipGallery:
    """Choose the clips and read their mels and audio.

    Args:
        reasons: the rows of `filtered` by reason.
    """
    ranks = worst_rows(kept)
    sample = sample_rows(kept, exclude=ranks)
    rejected = filtered_rows(filtered, reasons=reasons)
    make = _ClipReader(dataset)
    return ClipGallery(
        worst=[RankedClip(make.kept(kept, row, label=rank_label(mine)), mine) for row, mine in ranks.items()],
        sample=[RankedClip(make.kept(kept, row, label=""), {}) for row in sample],
        filtered=[RankedClip(make.filtered(filtered, row, label=reason), {}) for row, reason in rejected],
    )


class _ClipReader:
    """Reads clips of one dataset."""

    def __init__(self, dataset: Dataset):
        self._root, self._contract = dataset.layout.root, dataset.info.contract

    def kept(self, rows: DatasetRows, row: int, *, label: str) -> Clip:
        return self._read(rows, row, label=label, folder="shards")

    def filtered(self, rows: DatasetRows, row: int, *, label: str) -> Clip:
        return self._read(rows, row, label=label, folder="withheld")

    def _read(self, rows: DatasetRows, row: int, *, label: str, folder: str) -> Clip:
        path = self._root / folder / f"{rows.locate(row)[0]}.tfrecord"
        return make_clip(rows.full_row(row), path=path, label=label, contract=self._contract)


def worst_rows(kept: DatasetRows) -> dict[int, dict[str, int]]:
    """The rows to show as the worst, each with its ranks by check; the worst of all checks come first."""
    found: dict[int, dict[str, int]] = {}
    rankings = [(check.slug, _ranking(check, kept)) for check in CLIP_CHECKS]
    for position in range(WORST_PER_CHECK):
        for slug, rows in rankings:
            if position < len(rows):
                found.setdefault(rows[position], {})[slug] = position + 1
    return found


def _ranking(check: ClipCheck, kept: DatasetRows) -> list[int]:
    values = _comparable(check.column, kept)
    order = np.argsort(values if check.lowest_first else -values, kind="stable")
    if check.harmless is not None:
        order = order[kept.numbers(check.column)[order] != check.harmless]
    return order[:WORST_PER_CHECK].tolist()


def _comparable(column: str, kept: DatasetRows) -> np.ndarray:
    """The values of a column; speaking rates are divided by their language's median, [N]."""
    values = kept.numbers(column).astype(np.float64)
    if column != RATE:
        return values
    codes, names = kept.codes("language")
    medians = np.array([np.median(values[codes == number]) for number in range(len(names))])
    return values / np.maximum(medians[codes], 1e-9) if len(values) else values


def rank_label(ranks: dict[str, int]) -> str:
    """The label of a clip: "lowest SNR, shortest (2)"."""
    names = {check.slug: check.name for check in CLIP_CHECKS}
    return ", ".join(names[slug] + f" ({rank})" * (rank > 1) for slug, rank in ranks.items())


def sample_rows(kept: DatasetRows, *, exclude: Container[int] = ()) -> list[int]:
    """A dozen rows, taking sources, languages and speakers in turn.

    Records are stored in the order of a hash of their ids. The first records are therefore a random sample, and the
    same sample every time.
    """
    sources, source_names = kept.codes("source")
    languages, _ = kept.codes("language")
    groups = languages.astype(np.int64) * len(source_names) + sources
    speakers, _ = kept.codes("speaker")
    numbers, counts = np.unique(groups, return_counts=True)
    by_size = numbers[np.argsort(-counts, kind="stable")]
    queues = [_alternate_speakers(np.flatnonzero(groups == number)[:SAMPLE_POOL], speakers) for number in by_size]
    turns = (queue[turn] for turn in range(SAMPLE_POOL) for queue in queues if turn < len(queue))
    return list(itertools.islice((row for row in turns if row not in exclude), SAMPLE_CLIPS))


def _alternate_speakers(rows: np.ndarray, speakers: np.ndarray) -> list[int]:
    """Order rows so that each speaker occurs once before any speaker occurs twice."""
    seen: collections.Counter[int] = collections.Counter()
    turns = []
    for row in rows.tolist():
        seen[speakers[row]] += 1
        turns.append((seen[speakers[row]], row))
    return [row for _, row in sorted(turns)]


def filtered_rows(filtered: DatasetRows, *, reasons: dict[str, np.ndarray]) -> list[tuple[int, str]]:
    """(row, reason) of the most frequent reasons; of each reason the records nearest to the threshold."""
    common = sorted(reasons, key=lambda reason: (-len(reasons[reason]), reason))[:SHOWN_REASONS]
    return [(row, reason.replace("_", " ")) for reason in common for row in _nearest(filtered, reason, reasons[reason])]


def _nearest(filtered: DatasetRows, reason: str, rows: np.ndarray) -> Iterator[int]:
    for bound in ALL_BOUNDS:
        if bound.reason == reason and bound.column in filtered.table.column_names:
            values = filtered.numbers(bound.column)[rows]
            rows = rows[np.argsort(-values if bound.threshold.startswith("min_") else values, kind="stable")]
    yield from rows[:FILTERED_PER_REASON].tolist()
