"""The bucket plan, against every other way to cut the same lengths."""

from __future__ import annotations

import csv
import itertools
import math
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies

from shared.errors import UserError
from trainer.input.plan import Staircase, assign, cheapest_bounds, plan_buckets

LENGTHS = strategies.lists(strategies.tuples(strategies.integers(1, 400), strategies.integers(2, 90)), min_size=1)


def planned(
    lengths: list[tuple[int, int]],
    *,
    shapes: int = 4,
    frames_per_batch: int = 900,
    frames_per_step: int = 4,
    at_least: tuple[int, int] = (0, 0),
) -> Staircase:
    frames, tokens = np.array(lengths).T
    return plan_buckets(
        frames,
        tokens,
        at_least=at_least,
        shapes=shapes,
        frames_per_batch=frames_per_batch,
        max_clips=6,
        frames_per_step=frames_per_step,
    )


@hypothesis.given(LENGTHS, strategies.integers(1, 6), strategies.integers(1, 2000), strategies.integers(1, 7))
def test_every_record_fits_its_bucket_and_no_smaller_one(
    lengths: list[tuple[int, int]], shapes: int, frames_per_batch: int, frames_per_step: int
) -> None:
    plan = planned(lengths, shapes=shapes, frames_per_batch=frames_per_batch, frames_per_step=frames_per_step)
    padded = 0
    for (frames, tokens), index in zip(lengths, assign(plan.buckets, *np.array(lengths).T), strict=True):
        fitting = [k for k, bucket in enumerate(plan.buckets) if bucket.frames >= frames and bucket.tokens >= tokens]
        assert index == fitting[0]
        padded += plan.buckets[index].frames
    assert plan.padded_frames == padded
    assert plan.frames == sum(frames for frames, _ in lengths)


@hypothesis.given(LENGTHS, strategies.integers(1, 6), strategies.integers(1, 2000), strategies.integers(1, 7))
def test_buckets_are_few_rise_in_frames_and_tokens_and_are_aligned(
    lengths: list[tuple[int, int]], shapes: int, frames_per_batch: int, frames_per_step: int
) -> None:
    plan = planned(lengths, shapes=shapes, frames_per_batch=frames_per_batch, frames_per_step=frames_per_step)
    assert 1 <= len(plan.buckets) <= shapes
    for smaller, larger in itertools.pairwise(plan.buckets):
        assert smaller.frames < larger.frames
        assert smaller.tokens <= larger.tokens
    for bucket in plan.buckets:
        assert bucket.frames % math.lcm(8, frames_per_step) == 0
        assert bucket.tokens % 8 == 0
        assert 1 <= bucket.clips <= 6
        assert bucket.clips * bucket.frames <= frames_per_batch or bucket.clips == 1


@hypothesis.given(
    strategies.lists(strategies.tuples(strategies.integers(1, 60), strategies.integers(1, 9)), min_size=1, max_size=8),
    strategies.integers(1, 9),
)
def test_no_other_cut_is_cheaper(pairs: list[tuple[int, int]], shapes: int) -> None:
    counts = dict(pairs)
    candidates = np.array(sorted(counts))
    numbers = np.array([counts[candidate] for candidate in candidates])

    def cost(bounds: list[int]) -> int:
        smallest_fitting = [min(bound for bound in bounds if bound >= candidate) for candidate in candidates]
        return int(np.sum(numbers * smallest_fitting))

    others = (
        [*chosen, candidates[-1]] for size in range(shapes) for chosen in itertools.combinations(candidates[:-1], size)
    )
    bounds = cheapest_bounds(candidates, numbers, shapes=shapes)
    assert len(bounds) <= shapes
    assert cost(bounds) == min(map(cost, others))


@hypothesis.given(LENGTHS, strategies.integers(0, 900), strategies.integers(0, 200))
def test_the_last_bucket_holds_at_least_what_was_asked(
    lengths: list[tuple[int, int]], frames: int, tokens: int
) -> None:
    last = planned(lengths, at_least=(frames, tokens)).buckets[-1]
    assert last.frames >= max(frames, *(length for length, _ in lengths), 0)
    assert last.tokens >= max(tokens, *(count for _, count in lengths), 0)


@hypothesis.given(LENGTHS, strategies.integers(1, 6), strategies.integers(1, 2000))
def test_every_planned_bucket_is_filled_by_an_epoch_in_one_chunk(
    lengths: list[tuple[int, int]], shapes: int, frames_per_batch: int
) -> None:
    plan = planned(lengths, shapes=shapes, frames_per_batch=frames_per_batch)
    waiting = 0
    for index, bucket in enumerate(plan.buckets):
        waiting += sum(
            assign(plan.buckets, np.array([frames]), np.array([tokens]))[0] == index for frames, tokens in lengths
        )
        batches = waiting // bucket.clips if index < len(plan.buckets) - 1 else math.ceil(waiting / bucket.clips)
        assert batches >= 1, (plan.buckets, index)
        waiting -= batches * bucket.clips


def test_no_record_is_a_mistake_of_the_user() -> None:
    nothing = np.zeros(0, np.int64)
    with pytest.raises(UserError, match="no training record"):
        plan_buckets(nothing, nothing, shapes=8, frames_per_batch=16_000, max_clips=64, frames_per_step=4)


def test_ljspeech_in_eight_buckets_is_padded_by_less_than_eight_percent(reference: Path) -> None:
    with (reference / "ljspeech_lengths.csv").open(encoding="utf-8", newline="") as file:
        lengths = [(int(row["frames"]), int(row["tokens"])) for row in csv.DictReader(file)]
    frames, tokens = np.array(lengths).T
    plan = plan_buckets(frames, tokens, shapes=8, frames_per_batch=16_000, max_clips=64, frames_per_step=4)
    print(plan)
    assert len(lengths) == 13_100
    assert len(plan.buckets) == 8
    bounds = np.array([bucket.frames for bucket in plan.buckets])
    padded = sum(int(bounds[bounds >= length].min()) for length in frames)
    assert 1 - frames.sum() / padded < 0.08
    assert plan.padding == pytest.approx(1 - frames.sum() / padded, abs=0.005)
