"""Records to look at and to listen to: the mel as it stands in the shard, the sound as it stands in the corpus."""

from __future__ import annotations

import collections
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pipelines.html.clips import Clip, make_clip
from pipelines.tables.columns import DatasetRows
from shared.dataset import Dataset

CLIPS = 12
# Of these many of a source and language the first few are taken, of as many speakers as there are.
POOL = 64

EXTREMES = (
    ("shortest", "duration_s", np.argmin),
    ("longest", "duration_s", np.argmax),
    ("slowest", "characters_per_second", np.argmin),
    ("fastest", "characters_per_second", np.argmax),
    ("noisiest", "snr_db", np.argmin),
    ("quietest", "rms_db", np.argmin),
)
SHOWN_REASONS = 3


class Gallery(NamedTuple):
    """What is shown."""

    typical: list[Clip]
    extreme: list[Clip]
    withheld: list[Clip]

    @property
    def clips(self) -> list[Clip]:
        return [*self.typical, *self.extreme, *self.withheld]


def gallery(dataset: Dataset, *, kept: DatasetRows, withheld: DatasetRows, reasons: dict[str, np.ndarray]) -> Gallery:
    """The clips to show.

    Args:
        reasons: the withheld rows of each reason.
    """
    chosen = [(row, "") for row in choose_typical(kept)]
    extremes = choose_extremes(kept)
    common = sorted(reasons, key=lambda reason: (-len(reasons[reason]), reason))[:SHOWN_REASONS]
    aside = [(int(reasons[reason][0]), reason.replace("_", " ")) for reason in common]
    return Gallery(
        typical=list(_clips(dataset, kept, chosen, "manifest", "shards")),
        extreme=list(_clips(dataset, kept, extremes, "manifest", "shards")),
        withheld=list(_clips(dataset, withheld, aside, "withheld", "withheld")),
    )


def choose_typical(kept: DatasetRows) -> list[int]:
    """A dozen rows, over sources, languages and speakers in turn.

    Records lie in the order of a hash of their ids, so the first ones are a sample, and always the same one.
    """
    sources, source_names = kept.codes("source")
    languages, _ = kept.codes("language")
    groups = languages.astype(np.int64) * len(source_names) + sources
    speakers, _ = kept.codes("speaker")
    numbers, counts = np.unique(groups, return_counts=True)
    by_size = numbers[np.argsort(-counts, kind="stable")]
    queues = [_varied(np.flatnonzero(groups == number)[:POOL], speakers=speakers) for number in by_size]
    rounds = (queue[turn] for turn in range(CLIPS) for queue in queues if turn < len(queue))
    return [row for row, _ in zip(rounds, range(CLIPS), strict=False)]


def _varied(rows: np.ndarray, *, speakers: np.ndarray) -> list[int]:
    """In turns of their speakers."""
    heard: collections.Counter[int] = collections.Counter()
    turns = []
    for row in rows.tolist():
        heard[speakers[row]] += 1
        turns.append((heard[speakers[row]], row))
    return [row for _, row in sorted(turns)]


def choose_extremes(kept: DatasetRows) -> list[tuple[int, str]]:
    """DatasetRows, and what is extreme about each."""
    found: dict[int, list[str]] = {}
    for name, column, choose in EXTREMES:
        if len(kept.table):
            found.setdefault(int(choose(kept.numbers(column))), []).append(name)
    return [(row, ", ".join(names)) for row, names in found.items()]


def _clips(
    dataset: Dataset, rows: DatasetRows, chosen: list[tuple[int, str]], folder: str, records: str
) -> Iterator[Clip]:
    for number, label in chosen:
        row = rows.full_row(number)
        stem, _ = rows.locate(number)
        path = dataset.layout.root / records / f"{stem}.tfrecord"
        yield make_clip(row, path=path, label=label, file=f"{folder}/{stem}.parquet", contract=dataset.info.contract)
