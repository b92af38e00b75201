"""Assessment of the input pipeline: whether it keeps up with training, and advice if it does not.

The advice follows from two measurements during the waits: how many cores the process kept busy, and how much of the
bytes read came from storage. If these are inconclusive, no cause is named. It means nothing that a few steps have most
of the waiting, because a chunk is read as a whole while training uses the chunk before it.
"""

from __future__ import annotations

from typing import NamedTuple

from trainer.config.data_config import InputConfig
from trainer.monitoring.step_timer import TimingWindow
from trainer.platform.process import Reading, usable_cores

MAX_STALL = 0.02
MIN_STEPS = 20  # needed for an assessment
ALL_BUSY, IDLE = 0.8, 0.5  # of all cores; in cores
STORED = 0.5  # if storage gives more than this fraction of the bytes read, reading waits for storage


class InputStats(NamedTuple):
    """Measurements of the waits for batches."""

    steps: int
    stall: float
    busy_cores: float  # mean over the waits, of this process
    cores: int
    storage_mb_per_s: float | None  # over the training time; None if unknown
    from_storage: float | None  # fraction of the bytes read; the others came from memory or over the network


def input_stats(window: TimingWindow, reading: Reading | None) -> InputStats:
    """The measurements of a window in which `reading` was read."""
    waited_s = float(window.waits_s.sum())
    storage_mb_per_s, from_storage = None, None
    if reading is not None and reading.read_bytes > 0:
        storage_mb_per_s = reading.storage_bytes / 1e6 / window.seconds
        from_storage = min(1.0, reading.storage_bytes / reading.read_bytes)
    return InputStats(
        steps=len(window.waits_s),
        stall=window.stall,
        busy_cores=window.wait_cpu_s / waited_s if waited_s > 0 else 0.0,
        cores=usable_cores(),
        storage_mb_per_s=storage_mb_per_s,
        from_storage=from_storage,
    )


def assess_input(stats: InputStats, *, config: InputConfig, stores_mels: bool) -> str:
    """One line: whether the input keeps up; if not, the likely cause and what may help."""
    if stats.steps < MIN_STEPS:
        return f"input stall {stats.stall:.1%} in {stats.steps} timed steps, too few to assess the input"
    if stats.stall <= MAX_STALL:
        return f"input keeps up: stall {stats.stall:.1%}, expected at most {MAX_STALL:.0%}"
    seen = f"while the step waited this process kept {stats.busy_cores:.1f} of {stats.cores} cores busy"
    advice = _advice(stats, config) if stores_mels else _advice_for_computed_mels(stats)
    return f"input-bound: stall {stats.stall:.1%}, expected at most {MAX_STALL:.0%}; {seen}{advice}"


def _advice(stats: InputStats, config: InputConfig) -> str:
    readers = f"input.num_parallel_reads (now {config.num_parallel_reads})"
    if stats.busy_cores >= ALL_BUSY * stats.cores:
        return ": it needs more cores, or fewer other programs on these"
    if stats.from_storage and stats.storage_mb_per_s and stats.from_storage > STORED:
        return (
            f", and storage gave {stats.storage_mb_per_s:.0f} MB/s: raise {readers}; "
            "if that does not help, put the dataset on a faster disk"
        )
    if stats.busy_cores >= IDLE:
        return f": cores are free; raise {readers}"
    return (
        f", and little came from a local disk: either the data come over a network (raise {readers}, "
        "or copy them here) or other programs have the cores (see `uptime`)"
    )


def _advice_for_computed_mels(stats: InputStats) -> str:
    """All cores decode and transform recordings already; no setting of the input makes that faster."""
    cores = " and needs more cores" if stats.busy_cores >= ALL_BUSY * stats.cores else ""
    return f", computing mels{cores}: store them instead (`mel_dtype=float16` and `make preprocess`)"
