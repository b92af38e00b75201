"""What the first epoch puts into each bucket: with remainders moved up, and last batches partly empty."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from trainer.data.epoch_order import EpochOrder
from trainer.data.graph import HOST
from trainer.data.buckets import Bucket, share_of_padding


class Filled(NamedTuple):
    """What an epoch puts into each bucket."""

    batches: np.ndarray  # [K] int64
    records: np.ndarray  # [K] int64
    frames: np.ndarray  # [K] int64, valid

    def padding(self, buckets: tuple[Bucket, ...]) -> np.ndarray:
        """The share of the frames of a bucket's batches that is padding, empty rows too, [K]."""
        return share_of_padding(self.frames, self.batches * [one.clips * one.frames for one in buckets])

    def total_padding(self, buckets: tuple[Bucket, ...]) -> float:
        """The same of all buckets together."""
        padded = self.batches @ [one.clips * one.frames for one in buckets]
        return float(share_of_padding(self.frames.sum(keepdims=True), np.array([padded]))[0])


def first_epoch(order: EpochOrder, *, frames: np.ndarray, buckets: tuple[Bucket, ...]) -> Filled:
    """Epoch 0 of records of so many frames, [rows], by the order in which the stream gives them."""
    clips = np.array([one.clips for one in buckets])
    filled = Filled(*np.zeros((3, len(buckets)), np.int64))
    with tf.device(HOST):
        epoch = order.epoch(tf.constant(0, tf.int64))
        for number in range(len(epoch.chunk_starts) - 1):
            chunk = order.chunk(epoch, tf.constant(number, tf.int64))
            rows, starts, bucket = chunk.rows.numpy(), chunk.starts.numpy(), chunk.buckets.numpy()
            ends = np.minimum(starts + clips[bucket], len(rows))
            heard = np.concatenate([[0], np.cumsum(frames[rows])])
            added = np.ones_like(starts), ends - starts, heard[ends] - heard[starts]
            for total, values in zip(filled, added, strict=True):
                np.add.at(total, bucket, values)
    return filled
