"""The few shapes that batches may have: from the lengths of records to buckets of clips, frames and tokens.

One shape is one XLA program, so there are few of them, and every padded frame and token is computed with. Which
shapes cost least is `chains`' matter; here lengths are aligned, shapes become batches, and a shape that no epoch could
fill a batch with is given up.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeVar

import numpy as np

from trainer.data.bucket_search import Chain, cheapest_chains

TOKEN_ALIGNMENT = 8
FRAME_ALIGNMENT = 8

# What a token costs, in decoder positions of r frames: the multiplications of the text encoder's blocks, 12 D² each,
# over those of the decoder's, 14 D² (0.046 to 0.060 from tiny to big). With the decoder's keys and values of the text
# it would be 0.2, which on LJSpeech pads 0.2 points more frames to save 0.2 % of all multiplications.
TOKEN_POSITIONS = 0.05


L = TypeVar("L", int, np.ndarray)


class Bucket(NamedTuple):
    """A batch shape: so many clips, each padded to so many frames and tokens."""

    clips: int
    frames: int
    tokens: int

    def part(self, devices: int) -> Bucket:
        """What each of so many devices gets of a batch; rows may be empty in some."""
        return self._replace(clips=-(-self.clips // devices))

    def __str__(self) -> str:
        return f"{self.clips}×{self.frames}×{self.tokens}"


class Lengths(NamedTuple):
    """Pairs of lengths that occur, padded to the alignment, and what is heard of them in an epoch."""

    frames: np.ndarray  # [L] int64
    tokens: np.ndarray  # [L] int64
    records: np.ndarray  # [L] float64, times that any record of the pair is heard
    valid_frames: float  # of an epoch, before they were padded to the alignment
    valid_tokens: float


class Staircase(NamedTuple):
    """Buckets in rising order of both frames and tokens, and what an epoch costs in them."""

    buckets: tuple[Bucket, ...]
    records: np.ndarray  # [K] float64, heard in each bucket
    frames: float  # valid
    padded_frames: float
    padding_cost: float  # of all padding, tokens too, in frames
    strides: tuple[int, int]  # of frames and tokens, every so-many-th length was looked at for a boundary

    @property
    def padding(self) -> float:
        """The share of frames that is padding, before remainders move up."""
        return 1.0 - self.frames / self.padded_frames

    @property
    def batches(self) -> float:
        """Batches of an epoch, if none were partly empty."""
        return float(sum(self.records / [bucket.clips for bucket in self.buckets]))

    def __str__(self) -> str:
        shapes = ", ".join(map(str, self.buckets))
        return f"{len(self.buckets)} bucket shapes (clips×frames×tokens): {shapes}; padding {self.padding:.1%}"

    @property
    def coarseness(self) -> list[str]:
        """In one line what the plan is not exact in, if anything."""
        if self.strides == (1, 1):
            return []
        frames, tokens = self.strides
        return [
            f"too many lengths for an exact plan: of those of frames 1 in {frames} was tried, of tokens 1 in {tokens}"
        ]


def share_of_padding(valid: np.ndarray, padded: np.ndarray) -> np.ndarray:
    """The share of the padded frames that is padding, elementwise; none where there are none."""
    return 1.0 - np.divide(valid, padded, out=np.ones(len(padded)), where=padded > 0)


class Limits(NamedTuple):
    """What a batch may hold, and what the last bucket must."""

    frames_per_batch: int
    max_clips: int
    at_least: tuple[int, int] = (0, 0)  # frames and tokens


def measure_lengths(
    frames: np.ndarray, tokens: np.ndarray, *, rates: np.ndarray | None = None, frames_per_step: int
) -> Lengths:
    """The lengths of records [R] that are heard `rates` [R] times in an epoch (once, where none are given).

    Frames are padded to multiples of 8 and of the decoder's step, tokens to multiples of 8.
    """
    rates = np.ones(len(frames)) if rates is None else rates.astype(np.float64)
    heard = rates > 0
    frames, tokens, rates = frames[heard], tokens[heard], rates[heard]
    alignment = math.lcm(FRAME_ALIGNMENT, frames_per_step)
    padded_frames, padded_tokens = _aligned(frames, to=alignment), _aligned(tokens, to=TOKEN_ALIGNMENT)
    base = int(padded_tokens.max(initial=0)) + 1
    pairs, places = np.unique(padded_frames * base + padded_tokens, return_inverse=True)
    records = np.bincount(places, rates, minlength=len(pairs))
    return Lengths(pairs // base, pairs % base, records, float(frames @ rates), float(tokens @ rates))


def plan_staircases(lengths: Lengths, *, limits: Limits, shapes: int, frames_per_step: int) -> list[Staircase]:
    """For each k up to `shapes`, the cheapest staircase of at most k buckets that an epoch can all fill."""
    token_frames = TOKEN_POSITIONS * frames_per_step
    alignment = math.lcm(FRAME_ALIGNMENT, frames_per_step)
    at_least = _aligned(limits.at_least[0], to=alignment), _aligned(limits.at_least[1], to=TOKEN_ALIGNMENT)
    chains = cheapest_chains(
        lengths.frames,
        lengths.tokens,
        weights=lengths.records,
        shapes=shapes,
        token_frames=token_frames,
        at_least=at_least,
    )
    found: list[Staircase] = []
    for chain in chains.of:
        buckets = _fillable(_buckets(chain, lengths, limits=limits, at_least=at_least), lengths)
        staircase = _measured(buckets, lengths, token_frames=token_frames, strides=chains.strides)
        found.append(min([*found[-1:], staircase], key=lambda one: one.padding_cost))
    return found


def assign(buckets: tuple[Bucket, ...], frames: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """The smallest bucket that holds each record, [records]; len(buckets) where none does."""
    by_frames = np.searchsorted([bucket.frames for bucket in buckets], frames)
    by_tokens = np.searchsorted([bucket.tokens for bucket in buckets], tokens)
    return np.maximum(by_frames, by_tokens)


def _aligned(lengths: L, *, to: int) -> L:
    return -(-lengths // to) * to


def _buckets(chain: Chain, lengths: Lengths, *, limits: Limits, at_least: tuple[int, int]) -> tuple[Bucket, ...]:
    """Each shape no larger than its records and those below are, in clips that stay within the limits."""
    buckets: dict[tuple[int, int], Bucket] = {}
    for frames, tokens in zip(chain.frames, chain.tokens, strict=True):
        held = (lengths.frames <= frames) & (lengths.tokens <= tokens)
        shape = int(lengths.frames[held].max()), int(lengths.tokens[held].max())
        if held.all():
            shape = max(shape[0], at_least[0]), max(shape[1], at_least[1])
        clips = min(limits.max_clips, max(1, limits.frames_per_batch // shape[0]))
        buckets[shape] = Bucket(clips, *shape)
    return tuple(buckets.values())


def _fillable(buckets: tuple[Bucket, ...], lengths: Lengths) -> tuple[Bucket, ...]:
    """Drop each bucket whose own records and the remainder from below are fewer than one batch."""
    kept, waiting = [], 0.0
    for bucket, records in zip(buckets[:-1], _records(buckets, lengths), strict=False):
        waiting += float(records)
        if waiting >= bucket.clips:
            kept.append(bucket)
            waiting %= bucket.clips
    return (*kept, buckets[-1])


def _records(buckets: tuple[Bucket, ...], lengths: Lengths) -> np.ndarray:
    places = assign(buckets, lengths.frames, lengths.tokens)
    return np.bincount(places, lengths.records, minlength=len(buckets))


def _measured(
    buckets: tuple[Bucket, ...], lengths: Lengths, *, token_frames: float, strides: tuple[int, int]
) -> Staircase:
    records = _records(buckets, lengths)
    padded_frames, padded_tokens = (float(records @ sizes) for sizes in np.array(buckets, np.float64).T[1:])
    return Staircase(
        buckets=buckets,
        records=records,
        frames=lengths.valid_frames,
        padded_frames=padded_frames,
        padding_cost=padded_frames - lengths.valid_frames + token_frames * (padded_tokens - lengths.valid_tokens),
        strides=strides,
    )
