"""Blocks of records from the disk, several at a time, in an order that does not depend on how many."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import tensorflow as tf

from trainer.data.record_index import Blocks, MAX_BLOCK_RECORDS, Records, readable_runs

BUFFER_BYTES = 256 << 10


class BlockReader:
    """Reads the blocks of a chunk but for rows that were left out since they are corrupt."""

    def __init__(self, blocks: Blocks, *, records: Records, left_out: Collection[int], readers: int):
        runs, first_run = readable_runs(blocks, records, left_out=left_out)
        self._files = tf.constant([str(file) for file in records.files], tf.string)
        self._file, self._offset_bytes, self._count = (
            tf.constant(column, tf.int64) for column in (runs.file, runs.offset_bytes, runs.records)
        )
        self._first_run = tf.constant(first_run, tf.int64)
        self._left_out = tf.constant(np.array(sorted(left_out)), tf.int64) if left_out else None
        self._readers = readers

    def read(self, blocks: tf.Tensor) -> tf.data.Dataset:
        """The readable records of blocks [n] in their order, as one element [R] string.

        Raises when run:
            DataLossError: a record fails its checksum.
            InvalidArgumentError: there are fewer records than the manifests tell of.
        """
        runs = tf.ragged.range(tf.gather(self._first_run, blocks), tf.gather(self._first_run, blocks + 1)).values
        wanted = tf.reduce_sum(tf.gather(self._count, runs))
        # A block is taken whole before the next one's turn comes.
        records = tf.data.Dataset.from_tensor_slices(runs).interleave(
            self._read_run,
            cycle_length=self._readers,
            block_length=MAX_BLOCK_RECORDS + 1,
            num_parallel_calls=self._readers,
            deterministic=True,
        )
        nothing = tf.data.Dataset.from_tensors(tf.zeros([0], tf.string))
        return records.batch(tf.maximum(wanted, 1)).concatenate(nothing).take(1).map(lambda raw: _all(raw, wanted))

    def _read_run(self, run: tf.Tensor) -> tf.data.Dataset:
        records = tf.raw_ops.TFRecordDatasetV2(
            filenames=self._files[self._file[run]][None],
            compression_type="",
            buffer_size=tf.constant(BUFFER_BYTES, tf.int64),
            byte_offsets=self._offset_bytes[run][None],
        )
        return tf.data.experimental.from_variant(records, tf.TensorSpec([], tf.string)).take(self._count[run])

    def readable(self, rows: tf.Tensor) -> tf.Tensor:
        """Those of rows [n] that are not left out."""
        return rows if self._left_out is None else tf.boolean_mask(rows, ~self._is_left_out(rows))

    def places(self, *, read: tf.Tensor, rows: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
        """Of `rows` [R], the places among what was read, [R] int32; −1 for those left out.

        Args:
            read: [n] all rows of the blocks, in their order.
            places: [R] the places of `rows` among them.
        """
        if self._left_out is None:
            return places
        there = tf.cast(~self._is_left_out(read), tf.int32)
        found = tf.gather(tf.cumsum(there, exclusive=True), places)
        return tf.where(self._is_left_out(rows), -1, found)

    def _is_left_out(self, rows: tf.Tensor) -> tf.Tensor:
        return tf.reduce_any(rows[:, None] == self._left_out, axis=1)


def _all(raw: tf.Tensor, wanted: tf.Tensor) -> tf.Tensor:
    is_whole = tf.size(raw, tf.int64) == wanted
    with tf.control_dependencies([tf.debugging.Assert(is_whole, ["a shard ends before its last record"])]):
        return tf.identity(raw)
