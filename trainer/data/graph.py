"""The tf.data graph of batches: chunks of records are read, parsed and cut into batches in TensorFlow ops alone."""

from __future__ import annotations

from collections.abc import Collection

import tensorflow as tf

from trainer.data.epoch_order import Epoch, EpochOrder
from trainer.data.parser import BatchParser, ParsedChunk
from trainer.data.position import Position, Share
from trainer.data.python_ops import refuse_python_ops
from trainer.data.reader import BlockReader
from trainer.data.record_index import Blocks, RecordIndex

Batch = dict[str, tf.Tensor]

HOST = "/CPU:0"


class BatchGraph:
    """Builds the graph of a split's batches, for any order, start position, and part of each batch."""

    def __init__(
        self,
        blocks: Blocks,
        *,
        records: RecordIndex,
        parser: BatchParser,
        num_parallel_reads: int,
        stores_mels: bool,
    ):
        self._blocks, self._records, self._parser = blocks, records, parser
        self._num_parallel_reads = num_parallel_reads
        # computing mels occupies all cores; cutting stored ones takes next to nothing
        self._parallel_cuts = None if stores_mels else tf.data.AUTOTUNE

    @tf.autograph.experimental.do_not_convert  # nothing here needs it, and it takes most of the time
    def batches(
        self, order: EpochOrder, *, position: Position, until: int | None, share: Share, left_out: Collection[int]
    ) -> tf.data.Dataset:
        """The batches from `position` on, on the host.

        An element is a part of a batch, with `next`, the position after the batch; the parts of one batch that are in
        the share follow one another.

        Args:
            until: the epoch before which the batches end; None: they do not end.
            left_out: rows that are not read.
        """
        with tf.device(HOST):
            reader = BlockReader(
                self._blocks,
                records=self._records,
                left_out=left_out,
                num_parallel_reads=self._num_parallel_reads,
            )
            first_place = tf.constant(position[:2], tf.int64)

        def chunks(number: tf.Tensor) -> tf.data.Dataset:
            epoch = order.epoch(number)
            begin = tf.where(number == position.epoch, tf.constant(position.chunk, tf.int64), 0)
            numbers = tf.data.Dataset.range(begin, tf.size(epoch.chunk_starts, tf.int64) - 1)
            return numbers.flat_map(lambda chunk: load(epoch, chunk))

        def load(epoch: Epoch, number: tf.Tensor) -> tf.data.Dataset:
            place = tf.stack([epoch.number, number])
            chunk = order.chunk(epoch, number)
            start = tf.where(tf.reduce_all(place == first_place), tf.constant(position.batch, tf.int64), 0)
            read = order.rows_of(chunk.blocks)
            places = reader.places(read=read, rows=chunk.rows, places=chunk.places)
            has_batches_left = start < tf.size(chunk.starts, tf.int64)
            raw = reader.read(chunk.blocks).take(tf.cast(has_batches_left, tf.int64))
            rows = reader.readable(read)

            def parse(raw: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, ParsedChunk]:
                return place, start, self._parser.parse(raw, rows=rows, order=chunk, places=places, place=place)

            return raw.map(parse)

        def cut(place: tf.Tensor, start: tf.Tensor, chunk: ParsedChunk) -> tf.data.Dataset:
            end = tf.size(chunk.order.starts, tf.int64)
            numbers = tf.data.Dataset.range(start * share.taken, end * share.taken)
            return numbers.map(lambda number: cut_part(place, chunk, number), num_parallel_calls=self._parallel_cuts)

        def cut_part(place: tf.Tensor, chunk: ParsedChunk, number: tf.Tensor) -> Batch:
            batch, part = number // share.taken, share.first + number % share.taken
            content = self._parser.cut(
                chunk, batch=tf.cast(batch, tf.int32), part=tf.cast(part, tf.int32), parts=share.parts
            )
            return {**content, "next": tf.concat([place, [batch + 1]], 0)}

        last = tf.int64.max if until is None else until
        numbers = tf.data.Dataset.range(position.epoch, last)
        # the next chunk is read while this one is cut, also across the end of an epoch
        batches = numbers.flat_map(chunks).prefetch(1).flat_map(cut)
        options = tf.data.Options()
        options.deterministic = True
        options.threading.max_intra_op_parallelism = 1  # splitting an operation of 3 MB costs more than it saves
        batches = batches.with_options(options)
        refuse_python_ops(batches)
        return batches
