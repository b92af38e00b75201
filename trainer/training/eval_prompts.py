"""The prompts of synthesis evaluation: texts of validation clips, with another clip of the speaker as reference."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shared.dataset import Dataset
from shared.hashing import stable_hash
from trainer.data.reference_length import ReferenceLength
from trainer.model.reference_crop import loudest_part


class Clip(NamedTuple):
    """A clip whose text is synthesized, or that serves as voice reference."""

    utterance_id: str
    mel: np.ndarray  # [F, M] ln magnitude
    tokens: np.ndarray  # [T] int64


class EvalPrompts(NamedTuple):
    """Text, reference clip and language by utterance id; the reference is None if the speaker has no other clip."""

    texts: dict[str, str]
    references: dict[str, str | None]
    languages: dict[str, str]  # FLORES-200 codes

    @property
    def utterance_ids(self) -> set[str]:
        """All clips that are needed."""
        return {*self.texts, *filter(None, self.references.values())}


def choose_prompts(dataset: Dataset, *, split: str, heard: Sequence[str], count: int, seed: int) -> EvalPrompts:
    """Choose `count` clips of a split, independent of the order of batches.

    Clips of speakers with at least two clips come first, then those with the smallest hash. The reference is the
    speaker's longest other clip, which can fill a whole crop.

    Args:
        heard: utterance ids that the stream of this split delivers.
    """
    table = dataset.manifest(split, columns=("utterance_id", "text", "language", "speaker", "frames"))
    table = table.filter(pc.is_in(table["utterance_id"], pa.array(heard, pa.string())))
    clips = dict(zip(table["utterance_id"].to_pylist(), table["speaker"].to_pylist(), strict=True))
    clips_of = Counter(clips.values())
    names = heapq.nsmallest(count, clips, key=lambda name: (clips_of[clips[name]] == 1, _key(name, seed=seed)))
    chosen = table.filter(pc.is_in(table["utterance_id"], pa.array(names, pa.string()))).to_pylist()
    rows = {row["utterance_id"]: row for row in chosen}
    return EvalPrompts(
        texts={name: rows[name]["text"] for name in names},
        references={name: _reference_of(table, rows[name]) for name in names},
        languages={name: rows[name]["language"] for name in names},
    )


def _key(name: str, *, seed: int) -> int:
    return stable_hash(f"{seed}/{name}", purpose="free running")


def _reference_of(table: pa.Table, row: dict) -> str | None:
    """Return the longest other clip of the same speaker; ties go to the first name."""
    others = table.filter(
        pc.and_(
            pc.equal(table["speaker"], pa.scalar(row["speaker"], table["speaker"].type)),
            pc.not_equal(table["utterance_id"], row["utterance_id"]),
        )
    )
    ordered = others.sort_by([("frames", "descending"), ("utterance_id", "ascending")])
    return ordered["utterance_id"][0].as_py() if len(ordered) else None


def reference_crops(
    clips: Sequence[Clip], *, references: Sequence[Clip | None], lengths: ReferenceLength, crop_frames: int
) -> list[np.ndarray]:
    """Return a reference crop [C, M] for each clip.

    The crop is the loudest part of the reference, with a length that goes with the clip's text. A clip without
    reference gets its own first frames, equally many for all such clips: otherwise the crop would reveal the clip's
    length.
    """
    alone = [len(clip.mel) // 2 for clip, reference in zip(clips, references, strict=True) if reference is None]
    own_frames = min([crop_frames, *alone])
    heard = lengths.reference_frames([len(clip.tokens) for clip in clips], crop_frames=crop_frames).numpy()
    return [
        clip.mel[:own_frames] if reference is None else loudest_part(reference.mel, frames=frames).numpy()
        for clip, reference, frames in zip(clips, references, heard, strict=True)
    ]
