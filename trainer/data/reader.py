"""Reads blocks of records with several parallel reads, in an order that does not depend on their number."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import tensorflow as tf

from trainer.data.record_index import MAX_BLOCK_RECORDS, Blocks, RecordIndex, readable_runs

BUFFER_BYTES = 256 << 10


class BlockReader:
    """Reads the blocks of a chunk, without rows that are left out because they are corrupt."""

    def __init__(self, blocks: Blocks, *, records: RecordIndex, left_out: Collection[int], num_parallel_reads: int):
        runs, first_run = readable_runs(blocks, records, left_out=left_out)
        self._files = tf.constant([str(file) for file in records.files], tf.string)
        self._file, self._offset_bytes, self._count = (
            tf.constant(column, tf.int64) for column in (runs.file, runs.offset_bytes, runs.records)
        )
        self._first_run = tf.constant(first_run, tf.int64)
        self._left_out = tf.constant(np.array(sorted(left_out)), tf.int64) if left_out else None
        self._num_parallel_reads = num_parallel_reads

    def read(self, blocks: tf.Tensor) -> tf.data.Dataset:
        """The readable records of blocks [n] in their order, as one element [R] string.

        Raises when run:
            DataLossError: a record fails its checksum.
            InvalidArgumentError: there are fewer records than the manifests list.
        """
        runs = tf.ragged.range(tf.gather(self._first_run, blocks), tf.gather(self._first_run, blocks + 1)).values
        expected = tf.reduce_sum(tf.gather(self._count, runs))
        # the block length exceeds every run, so that one run is taken whole before the next
        records = tf.data.Dataset.from_tensor_slices(runs).interleave(
            self._read_run,
            cycle_length=self._num_parallel_reads,
            block_length=MAX_BLOCK_RECORDS + 1,
            num_parallel_calls=self._num_parallel_reads,
            deterministic=True,
        )
        nothing = tf.data.Dataset.from_tensors(tf.zeros([0], tf.string))
        whole = records.batch(tf.maximum(expected, 1)).concatenate(nothing).take(1)
        return whole.map(lambda raw: _check_count(raw, expected))

    def _read_run(self, run: tf.Tensor) -> tf.data.Dataset:
        runs = tf.reshape(run, [1])
        records = tf.raw_ops.TFRecordDatasetV2(
            filenames=tf.gather(self._files, tf.gather(self._file, runs)),
            compression_type="",
            buffer_size=tf.constant(BUFFER_BYTES, tf.int64),
            byte_offsets=tf.gather(self._offset_bytes, runs),
        )
        count = tf.gather(self._count, run)
        return tf.data.experimental.from_variant(records, tf.TensorSpec([], tf.string)).take(count)

    def readable(self, rows: tf.Tensor) -> tf.Tensor:
        """The rows of rows [n] that are not left out."""
        return rows if self._left_out is None else tf.boolean_mask(rows, ~self._is_left_out(rows))

    def places(self, *, read: tf.Tensor, rows: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
        """The index of each of `rows` [R] among the records that were read, [R] int32; −1 for rows left out.

        Args:
            read: [n] all rows of the blocks, in their order.
            places: [R] the index of each of `rows` in `read`.
        """
        if self._left_out is None:
            return places
        is_read = tf.cast(~self._is_left_out(read), tf.int32)
        found = tf.gather(tf.cumsum(is_read, exclusive=True), places)
        return tf.where(self._is_left_out(rows), -1, found)

    def _is_left_out(self, rows: tf.Tensor) -> tf.Tensor:
        return tf.reduce_any(rows[:, None] == self._left_out, axis=1)


def _check_count(raw: tf.Tensor, expected: tf.Tensor) -> tf.Tensor:
    is_whole = tf.size(raw, tf.int64) == expected
    with tf.control_dependencies([tf.debugging.Assert(is_whole, ["a shard ends before its last record"])]):
        return tf.identity(raw)
