"""Types of the bucket planner: batch shapes, a histogram of lengths, limits of a batch, and the finished plan."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Bucket(NamedTuple):
    """A batch shape: a number of clips, each padded to a number of frames and of tokens."""

    clips: int
    frames: int
    tokens: int

    def per_device(self, devices: int) -> Bucket:
        """The part of a batch that each of `devices` devices gets; some of its rows may be empty."""
        return self._replace(clips=-(-self.clips // devices))

    def __str__(self) -> str:
        return f"{self.clips}×{self.frames}×{self.tokens}"


class LengthHistogram(NamedTuple):
    """Pairs of lengths that occur, padded to the alignment, and how often an epoch samples each pair."""

    frames: np.ndarray  # [L] int64
    tokens: np.ndarray  # [L] int64
    records: np.ndarray  # [L] float64, samples of records of the pair
    valid_frames: float  # of an epoch, before padding to the alignment
    valid_tokens: float


class BatchLimits(NamedTuple):
    """The most that a batch may hold, and the lengths that the last bucket must hold."""

    frames_per_batch: int
    max_clips: int
    at_least: tuple[int, int] = (0, 0)  # frames and tokens


class BucketPlan(NamedTuple):
    """Buckets in rising order of both frames and tokens, and the padding of an epoch in them."""

    buckets: tuple[Bucket, ...]
    records: np.ndarray  # [K] float64, samples in each bucket
    frames: float  # valid ones
    padded_frames: float
    padding_cost: float  # of all padding, tokens included, in frames
    strides: tuple[int, int]  # every n-th frame length and token length was tried as a bucket's bound

    @property
    def padding(self) -> float:
        """The share of frames that is padding, before remainders move to larger buckets."""
        return 1.0 - self.frames / self.padded_frames

    @property
    def batches(self) -> float:
        """Batches of an epoch if all of them were full."""
        return float(sum(self.records / [bucket.clips for bucket in self.buckets]))

    def __str__(self) -> str:
        shapes = ", ".join(map(str, self.buckets))
        number = f"{len(self.buckets)} bucket shape{'s' if len(self.buckets) > 1 else ''}"
        return f"{number} (clips×frames×tokens): {shapes}; padding {self.padding:.1%}"

    @property
    def coarseness(self) -> list[str]:
        """One line if the plan is not exact, none if it is."""
        if self.strides == (1, 1):
            return []
        frames, tokens = self.strides
        return [
            f"too many lengths for an exact plan: 1 in {frames} frame lengths and 1 in {tokens} token lengths tried"
        ]


def padding_share(valid: np.ndarray, padded: np.ndarray) -> np.ndarray:
    """The share of the padded frames that is padding, elementwise; 0 where there are no frames."""
    return 1.0 - np.divide(valid, padded, out=np.ones(len(padded)), where=padded > 0)
