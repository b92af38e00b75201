"""The host during training: cores that this process and others keep busy, and the machine's free memory.

psutil reads counters of the operating system that only grow. A reading is their difference since the one before, so
nothing runs in between.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import psutil

from trainer.platform.process import has_cpu_quota, usable_cores


class HostStats(NamedTuple):
    """The host over some time."""

    seconds: float
    own_cores: float  # that this process kept busy, mean
    other_cores: float | None  # that other processes kept busy; None where this one may not use every core
    memory_free_mib: float  # that the machine could still give to programs, at the end

    def metrics(self) -> dict[str, float]:
        """The values that are known, by name."""
        values = {
            "own_cores": self.own_cores,
            "other_cores": self.other_cores,
            "memory_free_mib": self.memory_free_mib,
        }
        return {f"host_{name}": value for name, value in values.items() if value is not None}


class _Counters(NamedTuple):
    at_s: float
    own_s: float  # CPU time of this process
    every_s: float  # CPU time of all processes

    def since(self, earlier: _Counters) -> HostStats:
        seconds = max(self.at_s - earlier.at_s, 1e-9)
        own_cores = (self.own_s - earlier.own_s) / seconds
        # in a container with fewer cores, the counters are those of the whole machine
        sees_all = usable_cores() == psutil.cpu_count() and not has_cpu_quota()
        others = max(0.0, (self.every_s - earlier.every_s) / seconds - own_cores) if sees_all else None
        return HostStats(seconds, own_cores, others, psutil.virtual_memory().available / 2**20)


class HostMeter:
    """Reads the host: since the last reading, and since the beginning."""

    def __init__(self, *, process: psutil.Process | None = None, clock: Callable[[], float] = time.monotonic):
        """`process` is the one that is called own; None is this process."""
        self._process, self._clock = process or psutil.Process(), clock
        self._first = self._last = self._read()

    def read(self) -> HostStats:
        """Statistics since the last reading.

        Raises:
            psutil.Error: the process has ended.
        """
        earlier, self._last = self._last, self._read()
        return self._last.since(earlier)

    def total(self) -> HostStats:
        """Statistics since the beginning."""
        return self._read().since(self._first)

    def _read(self) -> _Counters:
        own, every = self._process.cpu_times(), psutil.cpu_times()
        return _Counters(self._clock(), own.user + own.system, every.user + every.nice + every.system)
