"""Whether the input keeps up, and what to do where it does not.

The remedy follows from what was seen during the waits themselves: how many cores this process kept busy meanwhile, and
how much of what was read storage had to give. Where these say nothing, no cause is named. That a few steps have all of
the waiting says nothing: a chunk is read whole while the one before it is trained on, whatever its size.
"""

from __future__ import annotations

from typing import NamedTuple

from trainer.config.data_config import InputConfig
from trainer.monitoring.step_timer import TimingWindow
from trainer.platform.process import Reading, usable_cores

MAX_STALL = 0.02
MIN_STEPS = 20  # fewer say nothing
ALL_BUSY, IDLE = 0.8, 0.5  # of all cores; in cores
STORED = 0.5  # the share of what is read from which on it is storage that reading waits for


class InputStats(NamedTuple):
    """What was seen of the waiting."""

    steps: int
    stall: float
    busy_cores: float  # of this process during the waits, mean
    cores: int
    storage_mb_per_s: float | None  # over the training time; None where it is not known
    from_storage: float | None  # share of what was read; the rest came from memory or over the network


def input_stats(window: TimingWindow, reading: Reading | None) -> InputStats:
    """The signs of a window in which so much was read."""
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
    """One line: whether the input keeps up, or why it seems not to, and what may mend it."""
    if stats.steps < MIN_STEPS:
        return f"stall {stats.stall:.1%}; steps that were timed: {stats.steps}, too few to judge the input by"
    if stats.stall <= MAX_STALL:
        return f"input keeps up: stall {stats.stall:.1%}, wanted at most {MAX_STALL:.0%}"
    seen = f"while the step waited this process kept {stats.busy_cores:.1f} of {stats.cores} cores busy"
    remedy = _remedy(stats, config) if stores_mels else _remedy_of_computed_mels(stats)
    return f"input too slow: stall {stats.stall:.1%}, wanted at most {MAX_STALL:.0%}; {seen}{remedy}"


def _remedy(stats: InputStats, config: InputConfig) -> str:
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


def _remedy_of_computed_mels(stats: InputStats) -> str:
    """Recordings are read and transformed by all cores at once; no setting of the input makes that faster."""
    cores = " and needs more cores" if stats.busy_cores >= ALL_BUSY * stats.cores else ""
    return f", computing mels{cores}: store them instead (`mel_dtype=float16` and `make preprocess`)"
