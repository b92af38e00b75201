"""Simulates the first epoch without reading records: batches and real padding of each bucket."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from trainer.data.bucket_types import Bucket, padding_share
from trainer.data.epoch_order import EpochOrder
from trainer.data.graph import HOST


class EpochStats(NamedTuple):
    """Batches, records and frames of an epoch in each bucket."""

    batches: np.ndarray  # [K] int64
    records: np.ndarray  # [K] int64
    frames: np.ndarray  # [K] int64, valid

    def padding(self, buckets: tuple[Bucket, ...]) -> np.ndarray:
        """The share of the frames of each bucket's batches that is padding, empty rows included, [K]."""
        return padding_share(self.frames, self.batches * [one.clips * one.frames for one in buckets])

    def total_padding(self, buckets: tuple[Bucket, ...]) -> float:
        """The share of all frames that is padding, empty rows included."""
        padded = self.batches @ [one.clips * one.frames for one in buckets]
        return float(padding_share(self.frames.sum(keepdims=True), np.array([padded]))[0])


def first_epoch_stats(order: EpochOrder, *, frames: np.ndarray, buckets: tuple[Bucket, ...]) -> EpochStats:
    """Batches and padding of epoch 0, in which remainders move to larger buckets and last batches are partly empty.

    Args:
        frames: [rows] length of each record.
    """
    clips = np.array([one.clips for one in buckets])
    stats = EpochStats(*np.zeros((3, len(buckets)), np.int64))
    with tf.device(HOST):
        epoch = order.epoch(tf.constant(0, tf.int64))
        for number in range(len(epoch.chunk_starts) - 1):
            chunk = order.chunk(epoch, tf.constant(number, tf.int64))
            rows, starts, bucket = chunk.rows.numpy(), chunk.starts.numpy(), chunk.buckets.numpy()
            ends = np.minimum(starts + clips[bucket], len(rows))
            totals = np.concatenate([[0], np.cumsum(frames[rows])])
            added = np.ones_like(starts), ends - starts, totals[ends] - totals[starts]
            for total, values in zip(stats, added, strict=True):
                np.add.at(total, bucket, values)
    return stats
