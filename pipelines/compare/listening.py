"""Changed clips to listen to: the record of A beside the record of B, with mel and sound."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.compare.changes import Changes
from pipelines.html.clips import Clip, make_clip
from pipelines.tables.load import KEPT, WITH_RECORD
from pipelines.trace.lookup import rows_with_id
from shared.dataset import Dataset

MAX_PAIRS = 8
# An utterance without a record on both sides is skipped; so many are tried.
MAX_TRIES = 16
# Kinds of change that can be seen in a mel or heard.
AUDIBLE_KINDS = ("mel", "audio", "text", "speaker", "language", "status")


class ClipPair(NamedTuple):
    """One utterance as it is in both datasets."""

    utterance_id: str
    kinds: list[str]  # the changes of this utterance
    clips: tuple[Clip, Clip]


def clip_pairs(a: Dataset, b: Dataset, changes: Changes) -> list[ClipPair]:
    """At most `MAX_PAIRS` utterances with a changed record; every kind of change takes its turn."""
    ids = {kind: set(changes[kind]["utterance_id"].to_pylist()) for kind in AUDIBLE_KINDS}
    pairs: list[ClipPair] = []
    for utterance_id in itertools.islice(_changed_ids(changes), MAX_TRIES):
        clips = [clip for name, side in (("A", a), ("B", b)) for clip in _clip(side, utterance_id, label=name)]
        if len(clips) == 2 and len(pairs) < MAX_PAIRS:
            kinds = [kind for kind in AUDIBLE_KINDS if utterance_id in ids[kind]]
            pairs.append(ClipPair(utterance_id, kinds, (clips[0], clips[1])))
    return pairs


def _changed_ids(changes: Changes) -> Iterator[str]:
    """Each changed utterance once, taking the kinds of change in turn."""
    seen: set[str] = set()
    for turn in itertools.zip_longest(*(_ids_of(changes[kind]) for kind in AUDIBLE_KINDS)):
        for utterance_id in turn:
            if utterance_id is not None and utterance_id not in seen:
                seen.add(utterance_id)
                yield utterance_id


def _ids_of(table: pa.Table) -> Iterator[str]:
    """The ids of one kind of change; mels of different shape come first, then those that differ most."""
    if "mean_abs" in table.column_names:
        distances = pc.fill_null(table["mean_abs"], float("inf"))
        table = table.take(pc.array_sort_indices(distances, order="descending"))
    return (value.as_py() for value in table["utterance_id"])


def _clip(dataset: Dataset, utterance_id: str, *, label: str) -> Iterator[Clip]:
    """The clip of one side; none if no record or several records have the id."""
    rows = [row for row in rows_with_id(dataset, utterance_id) if row["status"] in WITH_RECORD]
    if len(rows) == 1:
        (row,) = rows
        layout = dataset.layout
        path = layout.shard(row["shard"]) if row["status"] == KEPT else layout.withheld(row["shard"])
        yield make_clip(row, path=path, label=f"{label}: {row['status']}", contract=dataset.info.contract)
