"""A training's process and the GPUs of this machine, seen from another process by the lock, psutil and NVML."""

from __future__ import annotations

import contextlib
import datetime
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from shared.lock_holder import LockFile, LockHolder, read_holder
from trainer.monitoring.host_stats import HostMeter, HostStats

FIRST_LOOK_S = 0.5  # the first statistics of the host cover this time
CLOCK_ERROR_S = 10.0  # between a process' start and the time that it writes into its lock


class WatchedProcess:
    """The process that trains a run, if there is one."""

    def __init__(self, run: Path):
        self._lock = run / ".lock"
        self._meter: HostMeter | None = None
        self.holder: LockHolder | None = None
        self.host: HostStats | None = None  # since the last look; None: no such process on this machine

    def look(self) -> None:
        """Read the lock, and the host since the last look."""
        before, self.holder = self.holder, self._read_holder()
        if self.holder != before:
            self._meter = None
        self.host = self._read_host()

    @property
    def is_elsewhere(self) -> bool:
        """True if the lock names another machine."""
        return self.holder is not None and self.holder.host != socket.gethostname()

    def _read_holder(self) -> LockHolder | None:
        with contextlib.suppress(OSError), self._lock.open("rb") as file:
            return read_holder(LockFile(file))
        return None

    def _read_host(self) -> HostStats | None:
        if self.holder is None or self.is_elsewhere:
            return None
        try:
            process = psutil.Process(self.holder.pid)
            if not _is_holder(process, self.holder):
                return None
            if self._meter is None:
                self._meter = HostMeter(process=process)
                time.sleep(FIRST_LOOK_S)
            return self._meter.read()
        except psutil.Error:
            return None


def _is_holder(process: psutil.Process, holder: LockHolder) -> bool:
    """False for a process that ended, and for a later one with the same number."""
    locked_s = datetime.datetime.fromisoformat(holder.since).timestamp()
    return process.status() != psutil.STATUS_ZOMBIE and process.create_time() <= locked_s + CLOCK_ERROR_S


class GpuLoad(NamedTuple):
    """A GPU of this machine, whichever processes use it; None is a value that the driver does not give."""

    number: int
    name: str
    busy_percent: float | None
    used_gib: float | None
    total_gib: float | None
    power_w: float | None

    def __str__(self) -> str:
        words = [] if self.busy_percent is None else [f"{self.busy_percent:.0f} % busy"]
        if self.used_gib is not None:
            words.append(f"{self.used_gib:.1f} of {self.total_gib:.1f} GiB")
        if self.power_w is not None:
            words.append(f"{self.power_w:.0f} W")
        return f"{self.number} ({self.name}): {', '.join(words) or 'the driver gives no figures'}"


class GpuDriver:
    """NVML's figures of every GPU."""

    def __init__(self, nvml: Any):
        self._nvml = nvml
        self._handles: list[Any] = []
        with contextlib.suppress(nvml.NVMLError):
            nvml.nvmlInit()
            self._handles = [nvml.nvmlDeviceGetHandleByIndex(number) for number in range(nvml.nvmlDeviceGetCount())]

    def loads(self) -> Iterator[GpuLoad]:
        """The load of each GPU; none without NVIDIA's driver."""
        for number, handle in enumerate(self._handles):
            memory = self._ask(self._nvml.nvmlDeviceGetMemoryInfo, handle)
            rates = self._ask(self._nvml.nvmlDeviceGetUtilizationRates, handle)
            power_mw = self._ask(self._nvml.nvmlDeviceGetPowerUsage, handle)
            yield GpuLoad(
                number,
                str(self._ask(self._nvml.nvmlDeviceGetName, handle)),
                None if rates is None else rates.gpu,
                None if memory is None else memory.used / 2**30,
                None if memory is None else memory.total / 2**30,
                None if power_mw is None else power_mw / 1000,
            )

    def _ask(self, query: Callable[[Any], Any], handle: Any) -> Any:
        """The driver's answer; None where it has none, as for the utilisation of a GPU that is divided (MIG)."""
        with contextlib.suppress(self._nvml.NVMLError):
            return query(handle)
        return None
