"""What the first epoch puts into each bucket: with remainders moved up, and last batches partly empty."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trainer.input.plan import Plan
from trainer.input.rows import Rows
from trainer.input.staircase import Bucket, share_of_padding

BLOCK_RECORDS = 64


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
        return 1.0 - float(self.frames.sum()) / float(self.batches @ [one.clips * one.frames for one in buckets])


def first_epoch(rows: Rows, *, plan: Plan, bucket: np.ndarray, chunk_bytes: int, seed: int) -> Filled:
    """Epoch 0 of the training rows.

    Args:
        bucket: of each row, [rows]; K where it is in none.
    """
    filled = Filled(*np.zeros((3, len(plan.buckets)), np.int64))
    for chunk in _chunks(rows, rates=plan.rates["train"], chunk_bytes=chunk_bytes, seed=seed):
        _fill(filled, bucket[chunk], rows.frames[chunk], buckets=plan.buckets)
    return filled


def _chunks(rows: Rows, *, rates: np.ndarray, chunk_bytes: int, seed: int) -> list[np.ndarray]:
    """Rows in blocks of consecutive ones, shuffled and cut at so many bytes."""
    random = np.random.default_rng(seed)
    times = np.floor(rates + random.random(len(rates))).astype(np.int64)
    heard = np.repeat(np.arange(len(times)), times)
    blocks = np.array_split(heard, range(BLOCK_RECORDS, len(heard), BLOCK_RECORDS))
    random.shuffle(blocks)
    order = np.concatenate(blocks)
    chunk = np.cumsum(rows.length_bytes[order]) // chunk_bytes
    return np.split(order, np.nonzero(np.diff(chunk))[0] + 1)


def _fill(filled: Filled, bucket: np.ndarray, frames: np.ndarray, *, buckets: tuple[Bucket, ...]) -> None:
    """Add a chunk: each bucket in full batches, what is left over to the next one up."""
    waiting = np.zeros(0, np.int64)
    for place, one in enumerate(buckets):
        waiting = np.concatenate([waiting, frames[bucket == place]])
        last = place == len(buckets) - 1
        batches = -(-len(waiting) // one.clips) if last else len(waiting) // one.clips
        taken, waiting = waiting[: batches * one.clips], waiting[batches * one.clips :]
        filled.batches[place] += batches
        filled.records[place] += len(taken)
        filled.frames[place] += taken.sum()
