"""The order of an epoch: which records it hears, how often, in which batches; computed before anything is read.

Everything here is a function of the manifests, the settings, the seed and the epoch's number, in TensorFlow ops. So
a position in the stream is entered without reading what lies before it, and neither the number of readers nor that
of replicas can change the order.

    weights ──► times that each row is heard ──► comings of blocks ──shuffle──► chunks of so many bytes
    chunk ──► its rows by bucket, at random within each ──► slices, one for each batch ──shuffle──► batches

A bucket's left-over rows move up into the next larger bucket of the same chunk, so that only the last batch of a
chunk can be partly empty, and no row waits for the next chunk.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from trainer.data.record_index import Blocks
from trainer.data.plan import Bucket

# Of all that is decided here, to be raised with it: a position in one order means nothing in another.
VERSION = 2


class Epoch(NamedTuple):
    """Blocks in the order in which they come, cut into chunks."""

    number: tf.Tensor  # [] int64
    times: tf.Tensor  # [rows] int32, how often each is heard
    blocks: tf.Tensor  # [comings] int32
    comings: tf.Tensor  # [comings] int32, how often the block has come before
    chunk_starts: tf.Tensor  # [chunks + 1] int64, first coming of each


class ChunkOrder(NamedTuple):
    """The blocks of a chunk, its rows sorted by bucket, and the slices of them that are its batches."""

    blocks: tf.Tensor  # [n] int32, in the order in which they are read
    rows: tf.Tensor  # [R] int64
    places: tf.Tensor  # [R] int32, of each row among all records of the blocks
    starts: tf.Tensor  # [batches] int32, first of each batch in `rows`
    buckets: tf.Tensor  # [batches] int32


class EpochOrder:
    """The orders of all epochs."""

    def __init__(
        self,
        blocks: Blocks,
        *,
        bucket: np.ndarray,
        weights: np.ndarray,
        buckets: tuple[Bucket, ...],
        chunk_bytes: int,
        seed: int | None,
    ):
        """Without a seed every row is heard once, in the order of the shards within each chunk and bucket.

        Args:
            bucket: [rows] the bucket of each record; those that have none (len(buckets)) are left out.
            weights: [rows] how often an epoch hears each, on average.
        """
        self._first, self._count = tf.constant(blocks.first, tf.int64), tf.constant(blocks.records, tf.int64)
        self._size_bytes = tf.constant(blocks.size_bytes, tf.int64)
        self._window_bytes = max(chunk_bytes - int(blocks.size_bytes.max(initial=0)), 1)
        self._block_of = tf.constant(np.repeat(np.arange(len(blocks.first)), blocks.records), tf.int32)
        self._bucket = tf.constant(bucket, tf.int32)
        self._weights = tf.constant(np.where(bucket < len(buckets), weights, 0.0), tf.float64)
        self._clips = [one.clips for one in buckets]
        self._seed = seed

    def epoch(self, number: tf.Tensor) -> Epoch:
        """The comings of all blocks in epoch `number` [] int64."""
        times = self._times(number)
        most = tf.math.segment_max(times, self._block_of)
        blocks = tf.repeat(tf.range(tf.size(most)), most)
        comings = _ranges(tf.zeros_like(most), most)
        order = _permutation(tf.size(blocks), seed=self._fold_seed(number, 0))
        blocks = tf.gather(blocks, order)
        return Epoch(number, times, blocks, tf.gather(comings, order), self._cut(tf.gather(self._size_bytes, blocks)))

    def _times(self, number: tf.Tensor) -> tf.Tensor:
        """⌊w·(e + 1) + u⌋ − ⌊w·e + u⌋ for each row, where u is its block's own: after n epochs every row was heard
        n·w times, give or take one, and the rows of a block that is read are mostly heard together."""
        if self._seed is None:
            return tf.cast(self._weights > 0, tf.int32)
        # float32: its sums with weights and epochs are exact in float64
        lots = tf.random.stateless_uniform(tf.shape(self._first), [-1, self._seed])
        lots = tf.gather(tf.cast(lots, tf.float64), self._block_of)
        before, after = (tf.floor(self._weights * tf.cast(number + later, tf.float64) + lots) for later in (0, 1))
        return tf.cast(after - before, tf.int32)

    def _cut(self, sizes: tf.Tensor) -> tf.Tensor:
        """Where chunks of nearly equal size begin, [chunks + 1]: none exceeds the limit unless one block does."""
        total = tf.reduce_sum(sizes)
        chunks = tf.maximum(-(-total // self._window_bytes), 1)
        numbers = tf.cumsum(sizes, exclusive=True) // tf.maximum(-(-total // chunks), 1)
        begins = tf.concat([tf.ones_like(numbers[:1]), numbers[1:] - numbers[:-1]], 0)
        return tf.concat([tf.where(begins > 0)[:, 0], tf.size(sizes, tf.int64)[None]], 0)

    def chunk(self, epoch: Epoch, number: tf.Tensor) -> ChunkOrder:
        """Chunk `number` [] int64 of an epoch."""
        begin, end = epoch.chunk_starts[number], epoch.chunk_starts[number + 1]
        blocks = epoch.blocks[begin:end]
        rows, counts = self.rows_of(blocks), tf.gather(self._count, blocks)
        heard = tf.gather(epoch.times, rows) > tf.repeat(epoch.comings[begin:end], counts)
        places = tf.where(heard)[:, 0]
        rows = tf.gather(rows, places)
        bucket = tf.gather(self._bucket, rows)
        order = _by_bucket(bucket, seed=self._fold_seed(epoch.number, 2 * number + 1))
        starts, buckets = self._slices(bucket)
        shuffled = _permutation(tf.size(starts), seed=self._fold_seed(epoch.number, 2 * number + 2))
        return ChunkOrder(
            blocks=blocks,
            rows=tf.gather(rows, order),
            places=tf.gather(tf.cast(places, tf.int32), order),
            starts=tf.gather(starts, shuffled),
            buckets=tf.gather(buckets, shuffled),
        )

    def rows_of(self, blocks: tf.Tensor) -> tf.Tensor:
        """All rows of blocks [n], in their order, int64."""
        return _ranges(tf.gather(self._first, blocks), tf.gather(self._count, blocks))

    def _slices(self, bucket: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Start and bucket of each batch over rows sorted by bucket; K is small, so this is unrolled."""
        size = len(self._clips)
        counts = tf.math.bincount(bucket, minlength=size, maxlength=size)
        starts, buckets, taken, waiting = [], [], tf.constant(0), tf.constant(0)
        for k, clips in enumerate(self._clips):
            waiting += counts[k]
            full = waiting // clips if k < size - 1 else -(-waiting // clips)
            starts.append(taken + tf.range(full) * clips)
            buckets.append(tf.fill([full], k))
            taken += full * clips
            waiting -= full * clips
        return tf.concat(starts, 0), tf.concat(buckets, 0)

    def _fold_seed(self, epoch: tf.Tensor, number: tf.Tensor | int) -> tf.Tensor | None:
        """Of one draw of an epoch, each with a number of its own: 0 of its blocks, then two of each chunk."""
        if self._seed is None:
            return None
        return tf.stack([epoch * (1 << 32) + number, tf.constant(self._seed, tf.int64)])


def _ranges(firsts: tf.Tensor, counts: tf.Tensor) -> tf.Tensor:
    """first, first + 1, … of each, one behind another."""
    return tf.ragged.range(firsts, firsts + counts).values


def _by_bucket(bucket: tf.Tensor, *, seed: tf.Tensor | None) -> tf.Tensor:
    key = tf.cast(bucket, tf.float64)
    if seed is not None:
        key += tf.random.stateless_uniform(tf.shape(bucket), seed, dtype=tf.float64)
    return tf.argsort(key, stable=True)


def _permutation(size: tf.Tensor, *, seed: tf.Tensor | None) -> tf.Tensor:
    numbers = tf.range(size)
    return numbers if seed is None else tf.random.experimental.stateless_shuffle(numbers, seed)
