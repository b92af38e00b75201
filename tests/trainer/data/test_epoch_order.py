"""The order of an epoch, against a model of it in plain Python and against what its weights promise."""

from __future__ import annotations

import collections
import csv
import math
from pathlib import Path

import hypothesis
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import strategies

from tests.trainer.orders import Order, batches, records_of
from trainer.config.data_config import InputConfig
from trainer.data.bucket_types import BatchLimits, Bucket
from trainer.data.buckets import length_histogram, plan_buckets
from trainer.data.record_index import MAX_BLOCK_RECORDS

BUCKETS = (Bucket(3, 100, 20), Bucket(2, 200, 30), Bucket(2, 300, 60))

# frames, tokens, weight; some fit no bucket
ROWS = strategies.lists(
    strategies.tuples(
        strategies.integers(1, 320),
        strategies.integers(2, 70),
        strategies.sampled_from([0.0, 0.25, 0.7, 1.0, 1.5, 3.0]),
    ),
    min_size=1,
    max_size=60,
)
SHARDS = strategies.integers(1, 5)
CHUNK_BYTES = strategies.sampled_from([1, 60_000, 400_000, 1 << 30])


def made(rows: list[tuple[int, int, float]], *, shards: int, chunk_bytes: int) -> tuple[Order, np.ndarray]:
    frames, tokens, weights = (np.array(column) for column in zip(*rows, strict=True))
    order = Order.make(
        records_of(frames, tokens, shards=shards), BUCKETS, chunk_bytes=chunk_bytes, weights=weights.astype(float)
    )
    return order, np.where(order.bucket < len(BUCKETS), weights, 0.0)


@pytest.mark.slow
@hypothesis.settings(max_examples=40)
@hypothesis.given(ROWS, SHARDS, CHUNK_BYTES, strategies.integers(0, 1000))
def test_each_block_comes_as_often_as_its_most_heard_row_with_the_rows_due(
    rows: list[tuple[int, int, float]], shards: int, chunk_bytes: int, number: int
) -> None:
    order, weights = made(rows, shards=shards, chunk_bytes=chunk_bytes)
    epoch, chunks = order.chunks(number)
    assert (np.abs(epoch.times - weights) < 1).all()
    expected, found = collections.Counter(), collections.Counter()
    for block, (first, count) in enumerate(zip(order.blocks.first, order.blocks.records, strict=True)):
        rows_of_block = range(first, first + count)
        for coming in range(max(epoch.times[row] for row in rows_of_block)):
            expected[block, tuple(row for row in rows_of_block if epoch.times[row] > coming)] += 1
    for chunk in chunks:
        members = [(block, row) for block in chunk.blocks for row in rows_in(order, block)]
        coming_of = np.repeat(np.arange(len(chunk.blocks)), order.blocks.records[chunk.blocks])
        heard: dict[int, list[int]] = {coming: [] for coming in range(len(chunk.blocks))}
        for row, place in zip(chunk.rows, chunk.places, strict=True):
            assert members[place][1] == row
            heard[int(coming_of[place])].append(int(row))
        for coming, rows_heard in heard.items():
            found[int(chunk.blocks[coming]), tuple(sorted(rows_heard))] += 1
    assert found == expected


def rows_in(order: Order, block: int) -> range:
    return range(order.blocks.first[block], order.blocks.first[block] + order.blocks.records[block])


@pytest.mark.slow
@hypothesis.settings(max_examples=40)
@hypothesis.given(ROWS, SHARDS, CHUNK_BYTES)
def test_batches_are_filled_from_the_smallest_bucket_up_and_only_the_last_is_partial(
    rows: list[tuple[int, int, float]], shards: int, chunk_bytes: int
) -> None:
    order, _ = made(rows, shards=shards, chunk_bytes=chunk_bytes)
    for chunk in order.chunks(0)[1]:
        waiting, expected = 0, []
        for k, bucket in enumerate(BUCKETS):
            waiting += int(np.sum(order.bucket[chunk.rows] == k))
            is_last = k == len(BUCKETS) - 1
            while waiting >= bucket.clips or (is_last and waiting > 0):
                expected.append((k, min(waiting, bucket.clips)))
                waiting -= min(waiting, bucket.clips)
        cut = list(batches(chunk, BUCKETS))
        assert sorted((bucket, len(members)) for bucket, members in cut) == sorted(expected)
        assert sorted(row for _, members in cut for row in members) == sorted(chunk.rows.tolist())
        for bucket, members in cut:
            assert all(order.bucket[row] <= bucket for row in members)


@pytest.mark.slow
@hypothesis.settings(max_examples=40)
@hypothesis.given(ROWS, SHARDS, strategies.sampled_from([1, 60_000, 400_000]))
def test_a_chunk_is_no_larger_than_asked_unless_it_is_one_block(
    rows: list[tuple[int, int, float]], shards: int, chunk_bytes: int
) -> None:
    order, _ = made(rows, shards=shards, chunk_bytes=chunk_bytes)
    for chunk in order.chunks(3)[1]:
        assert order.blocks.size_bytes[chunk.blocks].sum() <= chunk_bytes or len(chunk.blocks) == 1


@hypothesis.given(ROWS, SHARDS, CHUNK_BYTES)
def test_blocks_hold_every_record_once_and_none_of_two_shards(
    rows: list[tuple[int, int, float]], shards: int, chunk_bytes: int
) -> None:
    frames, tokens, _ = (np.array(column) for column in zip(*rows, strict=True))
    records = records_of(frames, tokens, shards=shards)
    blocks = Order.make(records, BUCKETS, chunk_bytes=chunk_bytes).blocks
    held = [
        row for first, count in zip(blocks.first, blocks.records, strict=True) for row in range(first, first + count)
    ]
    assert held == list(range(len(rows)))
    assert blocks.records.max() <= MAX_BLOCK_RECORDS
    for number, first in enumerate(blocks.first):
        members = range(first, first + blocks.records[number])
        assert {records.file[row] for row in members} == {blocks.file[number]}
        assert blocks.offset_bytes[number] == records.offset_bytes[first]
        assert blocks.size_bytes[number] == sum(records.length_bytes[row] for row in members)


@pytest.mark.slow
def test_a_row_is_heard_as_often_as_its_weight_says_over_any_epochs() -> None:
    weights = np.repeat([0.0, 0.01, 1 / 3, 0.5, 1.0, 1.7, 4.0], 100)
    frames = np.full(len(weights), 90)
    order = Order.make(records_of(frames, frames // 5, shards=3), BUCKETS, chunk_bytes=1 << 20, weights=weights)
    times = np.array([order.epoch(number).times for number in range(60)])
    for begin, end in ((0, 60), (0, 1), (7, 31)):
        assert (np.abs(times[begin:end].sum(axis=0) - weights * (end - begin)) < 1 + 1e-9).all()


@pytest.mark.slow
def test_no_two_draws_are_of_one_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows and batches drawn from one seed would be in orders that know of each other."""
    uniform, shuffle, seeds = tf.random.stateless_uniform, tf.random.experimental.stateless_shuffle, []
    monkeypatch.setattr(tf.random, "stateless_uniform", lambda *a, **k: seeds.append(a[1]) or uniform(*a, **k))
    monkeypatch.setattr(
        tf.random.experimental, "stateless_shuffle", lambda *a, **k: seeds.append(a[1]) or shuffle(*a, **k)
    )
    frames = np.random.default_rng(1).integers(1, 300, 500)
    order = Order.make(records_of(frames, frames // 10, shards=4), BUCKETS[2:], chunk_bytes=1 << 20)
    chunks = sum(len(order.chunks(number)[1]) for number in range(3))
    assert chunks > 6
    drawn = [tuple(np.asarray(seed).tolist()) for seed in seeds]
    of_all_epochs = (-1, 1)  # what an epoch's fractions of weights are drawn from
    assert drawn.count(of_all_epochs) == 3
    own = [seed for seed in drawn if seed != of_all_epochs]
    assert len(set(own)) == len(own) == 3 + 2 * chunks


def test_an_order_without_a_seed_is_that_of_the_shards() -> None:
    frames = np.random.default_rng(1).integers(1, 300, 500)
    order = Order.make(records_of(frames, frames // 10, shards=4), BUCKETS[2:], chunk_bytes=4 << 20, seed=None)
    rows = np.concatenate([chunk.rows for chunk in order.chunks(0)[1]])
    assert rows.tolist() == list(range(500))


@pytest.mark.parametrize("shapes", [4, 8, 10, 12, 16])
def test_a_real_epoch_of_ljspeech_wastes_at_most_a_point_more_than_the_plan(reference: Path, shapes: int) -> None:
    """Half-full last batches and remainders that moved up are part of it."""
    with (reference / "ljspeech_lengths.csv").open(encoding="utf-8", newline="") as file:
        lengths = [(int(row["frames"]), int(row["tokens"])) for row in csv.DictReader(file)]
    frames, tokens = np.array(lengths).T
    measured = length_histogram(frames, tokens, frames_per_step=4)
    plan = plan_buckets(measured, limits=BatchLimits(16_000, 64), shapes=shapes, frames_per_step=4)[-1]
    order = Order.make(records_of(frames, tokens, shards=25), plan.buckets, chunk_bytes=InputConfig().chunk_bytes)
    for number in range(3):
        padded, heard = 0, []
        for chunk in order.chunks(number)[1]:
            for bucket, rows in batches(chunk, plan.buckets):
                padded += math.prod(plan.buckets[bucket][:2])
                heard += rows
        assert sorted(heard) == list(range(len(frames)))
        waste = 1 - frames.sum() / padded
        print(f"{len(plan.buckets)} buckets, epoch {number}: padding {waste:.2%}, planned {plan.padding:.2%}")
        assert waste < plan.padding + 0.01
