"""Clips of a dataset that are spoken for an evaluation, and the clip whose voice speaks each of them."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from shared.dataset import Dataset
from shared.errors import UserError
from shared.hashing import stable_hash
from shared.layout import SPLITS

COLUMNS = ("utterance_id", "text", "language", "speaker", "frames", "shard", "index", "offset_bytes")

Row = dict[str, Any]


class EvalClip(NamedTuple):
    """A clip whose text is spoken, as the manifest describes it."""

    utterance_id: str
    text: str  # prepared
    language: str  # a FLORES-200 code
    speaker: str
    row: Row
    reference: Row | None  # of another clip of the speaker; None: there is no other


def choose_clips(dataset: Dataset, *, split: str, count: int | None, seed: int = 1) -> list[EvalClip]:
    """Choose `count` clips of a split, always the same ones; None: all.

    The reference is the speaker's longest clip, and for this one the second longest: so a voice serves many clips.

    Raises:
        UserError: the dataset stores no mels, or has no such split.
    """
    if not dataset.info.contract.stores_mels:
        raise UserError(f"{dataset.layout.root}: it stores no mels (mel_dtype: none); expected a dataset that does")
    rows = dataset.manifest(split, columns=COLUMNS).to_pylist()
    if not rows:
        found = [one for one in SPLITS if any(shard.records for shard in dataset.info.shards_of(one))]
        raise UserError(f"{dataset.layout.root}: no clip in the split {split!r}; expected {' or '.join(found)}")
    chosen = rows if count is None else heapq.nsmallest(count, rows, key=lambda row: _key(row, seed=seed))
    longest = _longest_clips(rows)
    return [
        EvalClip(
            utterance_id=row["utterance_id"],
            text=row["text"],
            language=row["language"],
            speaker=row["speaker"],
            row=row,
            reference=next((one for one in longest[row["speaker"]] if one is not row), None),
        )
        for row in chosen
    ]


def _key(row: Row, *, seed: int) -> int:
    return stable_hash(f"{seed}/{row['utterance_id']}", purpose="evaluation")


def _longest_clips(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The two longest clips of each speaker; ties go to the first name."""
    by_speaker: dict[str, list[Row]] = {}
    for row in rows:
        by_speaker.setdefault(row["speaker"], []).append(row)
    return {
        speaker: heapq.nsmallest(2, clips, key=lambda row: (-row["frames"], row["utterance_id"]))
        for speaker, clips in by_speaker.items()
    }


def read_mels(dataset: Dataset, rows: Sequence[Row]) -> Iterator[np.ndarray]:
    """The mels [F, M] float32 in ln magnitude of manifest rows.

    Raises:
        UserError: a record is damaged, or its shard cannot be read.
    """
    for row in rows:
        try:
            record = dataset.record_of(row)
        except (OSError, ValueError) as error:
            raise UserError(f"{dataset.layout.root}: {error}; `make validate` tells what is damaged") from error
        yield record.mel.astype(np.float32)
