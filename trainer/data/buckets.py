"""Plans the batch shapes of a run: from the lengths of its records to buckets of clips, frames and tokens.

Each shape is one XLA program, so there are few shapes, and every padded frame and token is computed with.
`bucket_search` finds the shapes that cost least. This module aligns lengths, turns shapes into batches, and drops
shapes for which an epoch has not enough records to fill a batch.
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np

from trainer.data.bucket_search import BucketBounds, search_bucket_bounds
from trainer.data.bucket_types import BatchLimits, Bucket, BucketPlan, LengthHistogram

TOKEN_ALIGNMENT = 8
FRAME_ALIGNMENT = 8

# Cost of a token, in decoder positions of r frames: the multiplications of the text encoder's blocks, 12 D² each, over
# those of the decoder's, 14 D² (0.046 to 0.060 from tiny to big). With the decoder's keys and values of the text it
# would be 0.2, which on LJSpeech pads 0.2 points more frames to save 0.2 % of all multiplications.
TOKEN_POSITIONS = 0.05


L = TypeVar("L", int, np.ndarray)


def length_histogram(
    frames: np.ndarray, tokens: np.ndarray, *, rates: np.ndarray | None = None, frames_per_step: int
) -> LengthHistogram:
    """Count the padded lengths of records.

    Frames are padded to multiples of 8 and of the decoder's step, tokens to multiples of 8.

    Args:
        frames, tokens: [R] lengths of each record.
        rates: [R] how often an epoch samples each record; None: once.
    """
    rates = np.ones(len(frames)) if rates is None else rates.astype(np.float64)
    sampled = rates > 0
    frames, tokens, rates = frames[sampled], tokens[sampled], rates[sampled]
    alignment = math.lcm(FRAME_ALIGNMENT, frames_per_step)
    padded_frames, padded_tokens = _aligned(frames, to=alignment), _aligned(tokens, to=TOKEN_ALIGNMENT)
    base = int(padded_tokens.max(initial=0)) + 1
    pairs, indices = np.unique(padded_frames * base + padded_tokens, return_inverse=True)
    records = np.bincount(indices, rates, minlength=len(pairs))
    return LengthHistogram(pairs // base, pairs % base, records, float(frames @ rates), float(tokens @ rates))


def plan_buckets(
    lengths: LengthHistogram, *, limits: BatchLimits, shapes: int, frames_per_step: int
) -> list[BucketPlan]:
    """For each k up to `shapes`, the cheapest plan of at most k buckets, each of which an epoch can fill."""
    token_frames = TOKEN_POSITIONS * frames_per_step
    alignment = math.lcm(FRAME_ALIGNMENT, frames_per_step)
    at_least = _aligned(limits.at_least[0], to=alignment), _aligned(limits.at_least[1], to=TOKEN_ALIGNMENT)
    found = search_bucket_bounds(
        lengths.frames,
        lengths.tokens,
        weights=lengths.records,
        shapes=shapes,
        token_frames=token_frames,
        at_least=at_least,
    )
    plans: list[BucketPlan] = []
    for bounds in found.bounds:
        buckets = _fillable(_buckets(bounds, lengths, limits=limits, at_least=at_least), lengths)
        plan = _plan(buckets, lengths, token_frames=token_frames, strides=found.strides)
        plans.append(min([*plans[-1:], plan], key=lambda one: one.padding_cost))
    return plans


def assign_buckets(buckets: tuple[Bucket, ...], frames: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """The number of the smallest bucket that holds each record, [R]; len(buckets) for a record that none holds."""
    by_frames = np.searchsorted([bucket.frames for bucket in buckets], frames)
    by_tokens = np.searchsorted([bucket.tokens for bucket in buckets], tokens)
    return np.maximum(by_frames, by_tokens)


def _aligned(lengths: L, *, to: int) -> L:
    return -(-lengths // to) * to


def _buckets(
    bounds: BucketBounds, lengths: LengthHistogram, *, limits: BatchLimits, at_least: tuple[int, int]
) -> tuple[Bucket, ...]:
    """Buckets with shapes shrunk to their longest records, and as many clips as the limits allow."""
    buckets: dict[tuple[int, int], Bucket] = {}
    for frames, tokens in zip(bounds.frames, bounds.tokens, strict=True):
        held = (lengths.frames <= frames) & (lengths.tokens <= tokens)
        shape = int(lengths.frames[held].max()), int(lengths.tokens[held].max())
        if held.all():
            shape = max(shape[0], at_least[0]), max(shape[1], at_least[1])
        clips = min(limits.max_clips, max(1, limits.frames_per_batch // shape[0]))
        buckets[shape] = Bucket(clips, *shape)
    return tuple(buckets.values())


def _fillable(buckets: tuple[Bucket, ...], lengths: LengthHistogram) -> tuple[Bucket, ...]:
    """Drop each bucket whose own records and the remainder of smaller buckets are fewer than one batch."""
    kept, waiting = [], 0.0
    for bucket, records in zip(buckets[:-1], _records(buckets, lengths), strict=False):
        waiting += float(records)
        if waiting >= bucket.clips:
            kept.append(bucket)
            waiting %= bucket.clips
    return (*kept, buckets[-1])


def _records(buckets: tuple[Bucket, ...], lengths: LengthHistogram) -> np.ndarray:
    """Samples of an epoch in each bucket, [K]."""
    numbers = assign_buckets(buckets, lengths.frames, lengths.tokens)
    return np.bincount(numbers, lengths.records, minlength=len(buckets))


def _plan(
    buckets: tuple[Bucket, ...], lengths: LengthHistogram, *, token_frames: float, strides: tuple[int, int]
) -> BucketPlan:
    records = _records(buckets, lengths)
    padded_frames, padded_tokens = (float(records @ sizes) for sizes in np.array(buckets, np.float64).T[1:])
    return BucketPlan(
        buckets=buckets,
        records=records,
        frames=lengths.valid_frames,
        padded_frames=padded_frames,
        padding_cost=padded_frames - lengths.valid_frames + token_frames * (padded_tokens - lengths.valid_tokens),
        strides=strides,
    )
