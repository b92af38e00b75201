"""Choose the settings of reading for `myxtts-train tune`: the bytes of a chunk, and the number of parallel reads."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

import psutil

from shared.dataset import Dataset
from trainer.config.train_config import TrainConfig
from trainer.data.inspection import inspect_input
from trainer.platform.process import usable_cores
from trainer.tools.profile import Profile, Profiler
from trainer.tools.profile_table import NARROW_INPUT
from trainer.training.data_module import MAX_EXCESS_PADDING

CHUNKS_IN_MEMORY = 3  # at a time, as the setting's description says
MAX_MEMORY_SHARE = 0.25  # of the machine's memory, for chunks
MAX_READS_PER_CORE = 4
MIN_READ_GAIN = 1.05  # ratio of two speeds of the input from which one counts as the faster


class ChunkChoice(NamedTuple):
    """A chunk's size, and what of the first epoch's frames is padding with it."""

    chunk_bytes: int
    padding: float
    planned_padding: float


class ReadsChoice(NamedTuple):
    """The number of parallel reads."""

    num_parallel_reads: int
    input_over_steps: dict[int, float]  # speed of the input relative to the steps, with each number that was tried
    is_narrow: bool  # training may wait for the input


def choose_chunk_bytes(config: TrainConfig, *, dataset: Dataset, memory_bytes: int | None = None) -> ChunkChoice:
    """Double the chunk until an epoch's padding is near the plan's, or chunks would fill a share of the memory.

    Args:
        memory_bytes: the machine's memory; None: all that it has.
    """
    memory_bytes = psutil.virtual_memory().total if memory_bytes is None else memory_bytes
    most = max(1, int(MAX_MEMORY_SHARE * memory_bytes / CHUNKS_IN_MEMORY))
    chunk_bytes = min(config.input.chunk_bytes, most)
    while True:
        found = _padding(config, dataset=dataset, chunk_bytes=chunk_bytes)
        if found.padding <= found.planned_padding + MAX_EXCESS_PADDING or 2 * chunk_bytes > most:
            return found
        chunk_bytes *= 2


def _padding(config: TrainConfig, *, dataset: Dataset, chunk_bytes: int) -> ChunkChoice:
    changed = config.input.model_copy(update={"chunk_bytes": chunk_bytes})
    inspection = inspect_input(config.model_copy(update={"input": changed}), dataset=dataset)
    plan = inspection.plan
    return ChunkChoice(chunk_bytes, inspection.first_epoch.total_padding(plan.buckets), plan.bucket_plan.padding)


def choose_parallel_reads(
    profiler: Profiler, *, profile: Profile, dataset: Dataset, configured: int, log: Callable[[str], object]
) -> ReadsChoice:
    """Keep the configured number if the input is much faster than the steps; else double it while that helps.

    The page cache forgets the shards before each further measurement, so that the storage is measured again.
    """
    assert profile.input_over_steps is not None
    tried = {configured: profile.input_over_steps}
    best = configured
    while tried[best] < NARROW_INPUT and 2 * best <= MAX_READS_PER_CORE * usable_cores():
        _forget_cached(dataset)
        speed = profiler.input_over_steps(profile.shapes, log=log, num_parallel_reads=2 * best)
        if speed is None or speed < MIN_READ_GAIN * tried[best]:
            break
        tried[2 * best] = speed
        best *= 2
    return ReadsChoice(best, tried, tried[best] < NARROW_INPUT)


def _forget_cached(dataset: Dataset) -> None:
    """Ask the system to drop the training shards from its page cache."""
    for shard in dataset.info.shards_of("train"):
        file = os.open(str(dataset.layout.shard(shard.name)), os.O_RDONLY)
        try:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(file)
