"""Measure how fast the input yields batches, relative to the steps that use them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping

from shared.dataset import Dataset
from trainer.data.bucket_types import Bucket
from trainer.data.distributed_input import local_values
from trainer.distributed.device_memory import bucket_of
from trainer.distributed.devices import Batch
from trainer.training.data_module import DataModule

# The input is measured alone for the first number of seconds, then until the first batch of a chunk, because a chunk is
# read as a whole; it ends at the second number in any case.
INPUT_S, MOST_INPUT_S = 3.0, 60.0


def input_over_steps(batches: Iterator[Batch], *, feed: DataModule, step_s: Mapping[Bucket, float]) -> float:
    """Return the time of the steps for the batches of some chunks, relative to the time in which these arrive.

    Args:
        feed: plans the batches.
        step_s: time of a step on a batch of each planned bucket.
    """
    chunk, computed_s, start_s = None, 0.0, 0.0
    for batch in batches:
        local_values(batch["frames"])[0].numpy()  # blocks until the batch is on the device
        if chunk is None:
            start_s = time.perf_counter()
        elapsed_s = time.perf_counter() - start_s
        is_over = elapsed_s >= INPUT_S and _chunk_of(batch) != chunk
        if is_over or elapsed_s >= MOST_INPUT_S:
            break
        chunk = _chunk_of(batch)
        computed_s += step_s[feed.planned_bucket(bucket_of(batch))]
    return computed_s / elapsed_s


def forget_cached(dataset: Dataset) -> None:
    """Ask the system to drop the training shards from its page cache."""
    for shard in dataset.info.shards_of("train"):
        file = os.open(str(dataset.layout.shard(shard.name)), os.O_RDONLY)
        try:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(file)


def _chunk_of(batch: Batch) -> tuple[int, ...]:
    """Epoch and chunk."""
    return tuple(map(int, batch["next"][:2]))
