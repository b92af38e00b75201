"""The order of epochs over records that are nowhere but in a table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import tensorflow as tf

from trainer.data.bucket_types import Bucket
from trainer.data.buckets import assign_buckets
from trainer.data.epoch_order import ChunkOrder, Epoch, EpochOrder
from trainer.data.record_index import Blocks, RecordIndex, cut_blocks


def records_of(frames: np.ndarray, tokens: np.ndarray, *, shards: int, overhead_bytes: int = 300) -> RecordIndex:
    """Records of float16 mels of 80 bands, in shards of nearly equally many."""
    rows = len(frames)
    file = np.arange(rows) * shards // max(rows, 1)
    length_bytes = frames * 160 + overhead_bytes
    ends = np.cumsum(length_bytes)
    first_of = np.searchsorted(file, file)
    return RecordIndex(
        files=tuple(Path(f"{number}.tfrecord") for number in range(shards)),
        file=file,
        offset_bytes=ends - length_bytes - (ends - length_bytes)[first_of],
        length_bytes=length_bytes,
        frames=frames,
        tokens=tokens,
        utterance_id=pa.chunked_array([pa.array([f"r{row}" for row in range(rows)], pa.string())]),
        audio_path=pa.chunked_array([pa.array([f"r{row}.wav" for row in range(rows)], pa.string())]),
        duration_s=frames * 256 / 22_050,
    )


class Order(NamedTuple):
    """The order of some records, and what it was made from."""

    of: EpochOrder
    blocks: Blocks
    bucket: np.ndarray

    @classmethod
    def make(
        cls,
        records: RecordIndex,
        buckets: tuple[Bucket, ...],
        *,
        chunk_bytes: int,
        weights: np.ndarray | None = None,
        seed: int | None = 1,
    ) -> Order:
        blocks = cut_blocks(records, chunk_bytes=chunk_bytes)
        bucket = assign_buckets(buckets, records.frames, records.tokens)
        weights = np.ones(len(bucket)) if weights is None else weights
        order = EpochOrder(blocks, bucket=bucket, weights=weights, buckets=buckets, chunk_bytes=chunk_bytes, seed=seed)
        return cls(order, blocks, bucket)

    def chunks(self, number: int) -> tuple[Epoch, list[ChunkOrder]]:
        """An epoch and all of its chunks, in numpy."""
        epoch = self.epoch(number)
        chunks = range(len(epoch.chunk_starts) - 1)
        orders = [self.of.chunk(epoch, tf.constant(chunk, tf.int64)) for chunk in chunks]
        return Epoch(*map(np.asarray, epoch)), [ChunkOrder(*map(np.asarray, order)) for order in orders]

    def epoch(self, number: int) -> Epoch:
        return self.of.epoch(tf.constant(number, tf.int64))


def batches(order: ChunkOrder, buckets: tuple[Bucket, ...]) -> Iterator[tuple[int, list[int]]]:
    """The bucket and the rows of each batch."""
    for start, bucket in zip(order.starts, order.buckets, strict=True):
        yield int(bucket), order.rows[start : start + buckets[bucket].clips].tolist()
