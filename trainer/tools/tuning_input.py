"""Choose the settings of reading for `myxtts-train tune`: the bytes of a chunk, and the number of parallel reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from shared.dataset import Dataset
from trainer.config.train_config import TrainConfig
from trainer.data.inspection import inspect_input
from trainer.platform.process import memory_bytes, usable_cores
from trainer.tools.input_speed import forget_cached
from trainer.tools.profile import Profile, Profiler
from trainer.tools.profile_table import NARROW_INPUT
from trainer.training.data_module import MAX_EXCESS_PADDING

CHUNKS_IN_MEMORY = 3  # at a time, as the setting's description says
MAX_MEMORY_SHARE = 0.25  # of the memory that this process may use, for chunks
MIN_LESS_PADDING = 0.001  # share of an epoch's frames that a larger chunk must save
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


def choose_chunk_bytes(
    config: TrainConfig, *, dataset: Dataset, is_fixed: bool = False, most_memory_bytes: int | None = None
) -> ChunkChoice:
    """Take the chunk with which the first epoch has the least padding, of the configured size and its doublings.

    The last that is tried gives no more padding than planned, holds the whole epoch, or fills its share of the memory.

    Args:
        is_fixed: keep the configured size.
        most_memory_bytes: the memory that this process may use; None: as the system says.
    """
    configured = config.input.chunk_bytes
    if is_fixed:
        return _padding(config, dataset=dataset, chunk_bytes=configured)
    memory = memory_bytes() if most_memory_bytes is None else most_memory_bytes
    most = max(1, int(MAX_MEMORY_SHARE * memory / CHUNKS_IN_MEMORY))
    last = best = _padding(config, dataset=dataset, chunk_bytes=min(configured, most))
    whole = sum(shard.bytes for shard in dataset.info.shards_of("train"))
    while (
        last.padding > last.planned_padding + MAX_EXCESS_PADDING
        and last.chunk_bytes < whole
        and 2 * last.chunk_bytes <= most
    ):
        last = _padding(config, dataset=dataset, chunk_bytes=2 * last.chunk_bytes)
        best = last if last.padding < best.padding - MIN_LESS_PADDING else best
    return best


def _padding(config: TrainConfig, *, dataset: Dataset, chunk_bytes: int) -> ChunkChoice:
    changed = config.input.model_copy(update={"chunk_bytes": chunk_bytes})
    inspection = inspect_input(config.model_copy(update={"input": changed}), dataset=dataset)
    plan = inspection.plan
    return ChunkChoice(chunk_bytes, inspection.first_epoch.total_padding(plan.buckets), plan.bucket_plan.padding)


def choose_parallel_reads(
    profiler: Profiler,
    *,
    profile: Profile,
    dataset: Dataset,
    config: TrainConfig,
    is_fixed: bool,
    log: Callable[[str], object],
) -> ReadsChoice:
    """Keep the configured number if the input is much faster than the steps; else double it while that helps.

    Where it is not, the page cache forgets the shards before each measurement, so that each reads from the storage.
    """
    assert profile.input_over_steps is not None
    configured = config.input.num_parallel_reads
    tried = {configured: profile.input_over_steps}
    if is_fixed or tried[configured] >= NARROW_INPUT:
        return ReadsChoice(configured, tried, tried[configured] < NARROW_INPUT)

    def measure(reads: int) -> float:
        forget_cached(dataset)
        found = profiler.input_over_steps(profile.shapes, log=log, num_parallel_reads=reads)
        tried[reads] = 0.0 if found is None else found  # a batch that no longer fits helps nobody
        return tried[reads]

    best = configured
    measure(configured)
    while tried[best] < NARROW_INPUT and 2 * best <= MAX_READS_PER_CORE * usable_cores():
        if measure(2 * best) < MIN_READ_GAIN * tried[best]:
            break
        best *= 2
    return ReadsChoice(best, tried, tried[best] < NARROW_INPUT)
