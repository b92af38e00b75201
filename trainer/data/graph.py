"""The graph of batches: chunks of raw records read, parsed and cut, in TensorFlow alone."""

from __future__ import annotations

from collections.abc import Collection

import tensorflow as tf

from trainer.data.record_index import Blocks, Records
from trainer.data.epoch_order import Epoch, EpochOrder
from trainer.data.dataset_checks import refuse_python_ops
from trainer.data.parser import BatchParser, Loaded
from trainer.data.position import Position, Share
from trainer.data.reader import BlockReader

Batch = dict[str, tf.Tensor]

HOST = "/CPU:0"


class BatchGraph:
    """Makes the graph of a split's batches: in any order, from any position on, any share of each batch."""

    def __init__(self, blocks: Blocks, *, records: Records, parser: BatchParser, readers: int, stores_mels: bool):
        self._blocks, self._records, self._parser, self._readers = blocks, records, parser, readers
        # computing mels is work for all cores, cutting stored ones is none
        self._cuts_at_once = None if stores_mels else tf.data.AUTOTUNE

    def batches(
        self, order: EpochOrder, *, position: Position, until: int | None, share: Share, left_out: Collection[int]
    ) -> tf.data.Dataset:
        """On the host; to the end of epoch `until - 1`, or endless. Rows that are `left_out` are not read.

        An element is a part of a batch; those of one batch that are in the share follow one another.
        """
        with tf.device(HOST):
            reader = BlockReader(self._blocks, records=self._records, left_out=left_out, readers=self._readers)
            first = tf.constant(position, tf.int64)

        def chunks(number: tf.Tensor) -> tf.data.Dataset:
            epoch = order.epoch(number)
            begin = tf.where(number == first[0], first[1], 0)
            numbers = tf.data.Dataset.range(begin, tf.size(epoch.chunk_starts, tf.int64) - 1)
            return numbers.flat_map(lambda chunk: load(epoch, chunk))

        def load(epoch: Epoch, number: tf.Tensor) -> tf.data.Dataset:
            place = tf.stack([epoch.number, number])
            chunk = order.chunk(epoch, number)
            start = tf.where(tf.reduce_all(place == first[:2]), first[2], 0)
            read = order.rows_of(chunk.blocks)
            places = reader.places(read=read, rows=chunk.rows, places=chunk.places)
            is_wanted = start < tf.size(chunk.starts, tf.int64)
            raw = reader.read(chunk.blocks).take(tf.cast(is_wanted, tf.int64))
            rows = reader.readable(read)
            return raw.map(lambda raw: (place, start, self._parser.parse(raw, rows=rows, order=chunk, places=places)))

        def cut(place: tf.Tensor, start: tf.Tensor, chunk: Loaded) -> tf.data.Dataset:
            end = tf.size(chunk.order.starts, tf.int64)
            numbers = tf.data.Dataset.range(start * share.taken, end * share.taken)
            return numbers.map(lambda number: cut_part(place, chunk, number), num_parallel_calls=self._cuts_at_once)

        def cut_part(place: tf.Tensor, chunk: Loaded, number: tf.Tensor) -> Batch:
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
        options.threading.max_intra_op_parallelism = 1  # sharing an operation of 3 MB out costs more than it saves
        batches = batches.with_options(options)
        refuse_python_ops(batches)
        return batches
