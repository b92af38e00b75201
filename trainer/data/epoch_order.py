"""The order of an epoch, computed before anything is read: which records it samples, how often, in which batches.

The order is a function of the manifests, the settings, the seed and the epoch's number, in TensorFlow ops. A stream can
therefore start at any position without reading what precedes it, and neither the number of parallel reads nor the
number of replicas changes the order.

    weights ──► samples of each row ──► occurrences of blocks ──shuffle──► chunks of `chunk_bytes`
    chunk ──► its rows by bucket, shuffled within each ──► slices, one for each batch ──shuffle──► batches

Rows that do not fill a batch of their bucket move up to the next larger bucket of the same chunk. Only the last batch
of a chunk can therefore be partly empty, and no row waits for the next chunk.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from trainer.data.bucket_types import Bucket
from trainer.data.record_index import Blocks

# Raise this with any change of the order: a position means nothing in another order.
VERSION = 2


class Epoch(NamedTuple):
    """The blocks of an epoch in shuffled order, cut into chunks.

    A block occurs as often as its most sampled row; each occurrence yields the rows that are sampled more often than
    the block has occurred before.
    """

    number: tf.Tensor  # [] int64
    times: tf.Tensor  # [rows] int32, how often each row is sampled
    blocks: tf.Tensor  # [occurrences] int32
    occurrences: tf.Tensor  # [occurrences] int32, how often the block has occurred before
    chunk_starts: tf.Tensor  # [chunks + 1] int64, first occurrence of each chunk


class ChunkOrder(NamedTuple):
    """The blocks of a chunk, its sampled rows sorted by bucket, and the slices of these rows that are its batches."""

    blocks: tf.Tensor  # [n] int32, in the order in which they are read
    rows: tf.Tensor  # [R] int64
    places: tf.Tensor  # [R] int32, index of each row among all records of the blocks
    starts: tf.Tensor  # [batches] int32, index in `rows` of each batch's first row
    buckets: tf.Tensor  # [batches] int32


class EpochOrder:
    """Computes the order of any epoch."""

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
        """
        Args:
            bucket: [rows] the bucket of each record; rows without one (len(buckets)) are left out.
            weights: [rows] how often an epoch samples each row, on average.
            seed: None: every row once, in the order of the shards within each chunk and bucket.
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
        """The occurrences of all blocks in epoch `number` [] int64."""
        times = self._times(number)
        most = tf.math.segment_max(times, self._block_of)
        places = tf.cast(tf.where(tf.sequence_mask(most)), tf.int32)  # [occurrences, 2]
        order = _permutation(tf.shape(places)[0], seed=self._fold_seed(number, 0))
        blocks, occurrences = tf.unstack(tf.gather(places, order), axis=1)
        return Epoch(number, times, blocks, occurrences, self._chunk_starts(tf.gather(self._size_bytes, blocks)))

    def _times(self, number: tf.Tensor) -> tf.Tensor:
        """How often an epoch samples each row: ⌊w·(e + 1) + u⌋ − ⌊w·e + u⌋, where u is one random offset per block.

        After n epochs every row has been sampled n·w times, give or take one. Because rows of a block share u, most
        rows of a block that is read are sampled together.
        """
        if self._seed is None:
            return tf.cast(self._weights > 0, tf.int32)
        # float32: its sums with weights and epochs are exact in float64
        offsets = tf.random.stateless_uniform(tf.shape(self._first), [-1, self._seed])
        offsets = tf.gather(tf.cast(offsets, tf.float64), self._block_of)
        before, after = (tf.floor(self._weights * tf.cast(number + later, tf.float64) + offsets) for later in (0, 1))
        return tf.cast(after - before, tf.int32)

    def _chunk_starts(self, sizes: tf.Tensor) -> tf.Tensor:
        """First occurrence of each chunk, [chunks + 1]: chunks of nearly equal bytes, within `chunk_bytes`.

        Only a single block that is larger than `chunk_bytes` makes a chunk that exceeds it.
        """
        total = tf.reduce_sum(sizes)
        chunks = tf.maximum(-(-total // self._window_bytes), 1)
        numbers = tf.cumsum(sizes, exclusive=True) // tf.maximum(-(-total // chunks), 1)
        begins = tf.concat([tf.ones_like(numbers[:1]), numbers[1:] - numbers[:-1]], 0)
        return tf.concat([tf.squeeze(tf.where(begins > 0), 1), [tf.size(sizes, tf.int64)]], 0)

    def chunk(self, epoch: Epoch, number: tf.Tensor) -> ChunkOrder:
        """The order of chunk `number` [] int64 of an epoch."""
        taken = tf.range(tf.gather(epoch.chunk_starts, number), tf.gather(epoch.chunk_starts, number + 1))
        blocks = tf.gather(epoch.blocks, taken)
        # of each record: the place of its block in the chunk, and its own place in the block
        block, record = tf.unstack(tf.where(tf.sequence_mask(tf.gather(self._count, blocks))), axis=1)
        rows = tf.gather(tf.gather(self._first, blocks), block) + record
        occurrences = tf.gather(tf.gather(epoch.occurrences, taken), block)
        places = tf.squeeze(tf.where(tf.gather(epoch.times, rows) > occurrences), 1)
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
        """Start and bucket of each batch over rows sorted by bucket; the loop is unrolled, as buckets are few."""
        size = len(self._clips)
        counts = tf.unstack(tf.math.unsorted_segment_sum(tf.ones_like(bucket), bucket, size))
        starts, buckets, first, waiting = [], [], 0, 0
        for k, (clips, count) in enumerate(zip(self._clips, counts, strict=True)):
            waiting += count
            batches = waiting // clips if k < size - 1 else (waiting + clips - 1) // clips
            rows = batches * clips
            starts.append(tf.range(first, first + rows, clips))
            buckets.append(tf.fill([batches], k))
            first, waiting = first + rows, waiting - rows
        return tf.concat(starts, 0), tf.concat(buckets, 0)

    def _fold_seed(self, epoch: tf.Tensor, number: tf.Tensor | int) -> tf.Tensor | None:
        """The seed of random draw `number` of an epoch: draw 0 shuffles the blocks, two draws belong to each chunk."""
        if self._seed is None:
            return None
        return tf.stack([epoch * (1 << 32) + number, tf.constant(self._seed, tf.int64)])


def _ranges(firsts: tf.Tensor, counts: tf.Tensor) -> tf.Tensor:
    """The ranges first, first + 1, …, one after another."""
    return tf.raw_ops.RaggedRange(starts=firsts, limits=firsts + counts, deltas=tf.ones([], firsts.dtype))[1]


def _by_bucket(bucket: tf.Tensor, *, seed: tf.Tensor | None) -> tf.Tensor:
    """A permutation that sorts rows by bucket, and shuffles within each bucket if there is a seed."""
    key = tf.cast(bucket, tf.float64)
    if seed is not None:
        key += tf.random.stateless_uniform(tf.shape(bucket), seed, dtype=tf.float64)
    return tf.argsort(key, stable=True)


def _permutation(size: tf.Tensor, *, seed: tf.Tensor | None) -> tf.Tensor:
    numbers = tf.range(size)
    return numbers if seed is None else tf.random.experimental.stateless_shuffle(numbers, seed)
