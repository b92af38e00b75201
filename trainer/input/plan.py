"""Bucket planning: the few shapes that batches may have, from the lengths in the manifest.

One shape is one XLA program, so there are at most K of them. Among all ways to cut the lengths into K
buckets the plan takes the one with the fewest padded frames, by dynamic programming over aligned lengths.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shared.dataset import Dataset
from shared.errors import UserError
from shared.layout import SPLITS
from trainer.input.config import InputConfig
from trainer.input.rows import Rows, read_rows

TOKEN_ALIGNMENT = 8
FRAME_ALIGNMENT = 8


class Bucket(NamedTuple):
    """A batch shape: so many clips, each padded to so many frames and tokens."""

    clips: int
    frames: int
    tokens: int


class Staircase(NamedTuple):
    """Buckets in rising order of both frames and tokens, and what they cost on the planned lengths."""

    buckets: tuple[Bucket, ...]
    frames: int  # valid
    padded_frames: int

    @property
    def padding(self) -> float:
        """The share of frames that is padding, before remainders move up."""
        return 1.0 - self.frames / self.padded_frames

    def __str__(self) -> str:
        shapes = ", ".join(f"{one.clips}×{one.frames}×{one.tokens}" for one in self.buckets)
        return f"{len(self.buckets)} bucket shapes (clips×frames×tokens): {shapes}; padding {self.padding:.1%}"


class Plan(NamedTuple):
    """What the input of a run is: the shapes of its batches, and how often each record is heard."""

    staircase: Staircase
    rates: dict[str, np.ndarray]  # by split: times that an epoch hears each row of the manifests, [rows] float32

    @property
    def buckets(self) -> tuple[Bucket, ...]:
        return self.staircase.buckets

    def __str__(self) -> str:
        return str(self.staircase)


def plan_dataset(dataset: Dataset, *, config: InputConfig, frames_per_step: int, steps: int) -> Plan:
    """The buckets that cost a run of so many steps least, the last of them large enough for validation too.

    Raises:
        UserError: there is nothing to train on, or a manifest is damaged.
    """
    rows = {split: read_rows(dataset, split=split) for split in SPLITS}
    train, validation = rows["train"], rows["validation"]
    staircase = plan_buckets(
        train.frames,
        train.tokens,
        at_least=(int(validation.frames.max(initial=0)), int(validation.tokens.max(initial=0))),
        shapes=config.buckets,
        frames_per_batch=config.frames_per_batch,
        max_clips=config.max_clips,
        frames_per_step=frames_per_step,
    )
    once = np.ones(len(validation.frames), np.float32)
    return Plan(staircase, {"train": _rates(dataset, train), "validation": once})


def _rates(dataset: Dataset, rows: Rows) -> np.ndarray:
    weights = [dataset.info.sources[name].weight for name in rows.source.names]
    return np.array(weights, np.float32)[rows.source.codes]


def plan_buckets(
    frames: np.ndarray,
    tokens: np.ndarray,
    *,
    at_least: tuple[int, ...] = (0, 0),
    shapes: int,
    frames_per_batch: int,
    max_clips: int,
    frames_per_step: int,
) -> Staircase:
    """The buckets for records of these lengths, [records] each.

    A bucket that could not fill one batch of an epoch is merged into the next larger one. The last bucket holds
    records of `at_least` so many frames and tokens.

    Raises:
        UserError: there are no records.
    """
    if len(frames) == 0:
        raise UserError("the dataset has no training record; wanted one or more (is validation_fraction too high?)")
    alignment = math.lcm(FRAME_ALIGNMENT, frames_per_step)
    lengths = -(-frames // alignment) * alignment
    candidates, counts = np.unique(lengths, return_counts=True)
    bounds = cheapest_bounds(candidates, counts, shapes=shapes)
    bounds[-1] = max(bounds[-1], -(-at_least[0] // alignment) * alignment)
    longest = [int(tokens[frames <= bound].max()) for bound in bounds]
    longest[-1] = max(longest[-1], at_least[1])
    buckets = tuple(
        Bucket(clips=min(max_clips, max(1, frames_per_batch // bound)), frames=bound, tokens=_aligned(most))
        for bound, most in zip(bounds, longest, strict=True)
    )
    buckets = _fillable(buckets, frames, tokens)
    padded = sum(bucket.frames for bucket in (buckets[index] for index in assign(buckets, frames, tokens)))
    return Staircase(buckets, int(frames.sum()), padded)


def cheapest_bounds(candidates: np.ndarray, counts: np.ndarray, *, shapes: int) -> list[int]:
    """At most `shapes` of the rising `candidates`, the last included, with the least Σ counts · bound.

    best[k][j] is the cost of the first j candidates in k buckets of which the last ends at candidate j - 1.
    """
    size = len(candidates)
    total = np.concatenate([[0], np.cumsum(counts)])
    best = np.full((shapes + 1, size + 1), np.inf)
    cut = np.zeros((shapes + 1, size + 1), np.int64)
    best[:, 0] = 0.0
    for k in range(1, shapes + 1):
        for j in range(1, size + 1):
            costs = best[k - 1, :j] + (total[j] - total[:j]) * candidates[j - 1]
            cut[k, j] = np.argmin(costs)
            best[k, j] = costs[cut[k, j]]
    bounds, k, j = [], shapes, size
    while j > 0:
        bounds.append(int(candidates[j - 1]))
        k, j = k - 1, int(cut[k, j])
    return bounds[::-1]


def assign(buckets: tuple[Bucket, ...], frames: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """The smallest bucket that holds each record, [records]; len(buckets) where none does."""
    by_frames = np.searchsorted([bucket.frames for bucket in buckets], frames)
    by_tokens = np.searchsorted([bucket.tokens for bucket in buckets], tokens)
    return np.maximum(by_frames, by_tokens)


def _aligned(tokens: int) -> int:
    return -(-tokens // TOKEN_ALIGNMENT) * TOKEN_ALIGNMENT


def _fillable(buckets: tuple[Bucket, ...], frames: np.ndarray, tokens: np.ndarray) -> tuple[Bucket, ...]:
    """Drop each bucket whose own records and the remainder from below are fewer than one batch."""
    counts = np.bincount(assign(buckets, frames, tokens), minlength=len(buckets))
    kept, waiting = [], 0
    for bucket, count in zip(buckets[:-1], counts[:-1], strict=True):
        waiting += int(count)
        if waiting >= bucket.clips:
            kept.append(bucket)
            waiting %= bucket.clips
    return (*kept, buckets[-1])
