"""Which clips are spoken at validation, and in whose voice: a clip's own frames would say too much of themselves."""

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
from trainer.data.reference_length import Lengths
from trainer.model.reference_crop import loudest_part


class Clip(NamedTuple):
    """One that is spoken, or whose voice is lent."""

    utterance_id: str
    mel: np.ndarray  # [F, M] ln magnitude
    tokens: np.ndarray  # [T] int64


class EvalPrompts(NamedTuple):
    """Clips by name: what each says, and the one that lends it its voice, None where a speaker has no other."""

    texts: dict[str, str]
    references: dict[str, str | None]

    @property
    def utterance_ids(self) -> set[str]:
        """All that are to be had."""
        return {*self.texts, *filter(None, self.references.values())}


def choose_prompts(dataset: Dataset, *, heard: Sequence[str], count: int, seed: int) -> EvalPrompts:
    """Of the validation split's clips that are heard those with the least keys, whatever the order of batches; first
    those of speakers who have another.

    The voice is lent by the speaker's longest other clip, which can fill a whole crop.
    """
    table = dataset.manifest("validation", columns=("utterance_id", "text", "speaker", "frames"))
    table = table.filter(pc.is_in(table["utterance_id"], pa.array(heard, pa.string())))
    clips = dict(zip(table["utterance_id"].to_pylist(), table["speaker"].to_pylist(), strict=True))
    clips_of = Counter(clips.values())
    names = heapq.nsmallest(count, clips, key=lambda name: (clips_of[clips[name]] == 1, _key(name, seed=seed)))
    chosen = table.filter(pc.is_in(table["utterance_id"], pa.array(names, pa.string()))).to_pylist()
    rows = {row["utterance_id"]: row for row in chosen}
    return EvalPrompts(
        {name: rows[name]["text"] for name in names}, {name: _other_of(table, rows[name]) for name in names}
    )


def _key(name: str, *, seed: int) -> int:
    return stable_hash(f"{seed}/{name}", purpose="free running")


def _other_of(table: pa.Table, row: dict) -> str | None:
    """The longest clip of the same speaker but this one; of several the first by name."""
    others = table.filter(
        pc.and_(
            pc.equal(table["speaker"], pa.scalar(row["speaker"], table["speaker"].type)),
            pc.not_equal(table["utterance_id"], row["utterance_id"]),
        )
    )
    ordered = others.sort_by([("frames", "descending"), ("utterance_id", "ascending")])
    return ordered["utterance_id"][0].as_py() if len(ordered) else None


def reference_crops(
    clips: Sequence[Clip], *, references: Sequence[Clip | None], lengths: Lengths, crop_frames: int
) -> list[np.ndarray]:
    """The loudest part of each reference, as much as goes with the clip's text; where there is none the clip's own
    first part, as long for one clip as for another, since else it would tell how long to speak: [C, M] each.
    """
    alone = [len(clip.mel) // 2 for clip, reference in zip(clips, references, strict=True) if reference is None]
    own_frames = min([crop_frames, *alone])
    heard = lengths.heard_frames([len(clip.tokens) for clip in clips], crop_frames=crop_frames).numpy()
    return [
        clip.mel[:own_frames] if reference is None else loudest_part(reference.mel, frames=frames).numpy()
        for clip, reference, frames in zip(clips, references, heard, strict=True)
    ]
