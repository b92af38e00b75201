"""Resources of this process as the operating system reports them: cores, memory and bytes read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple


class Reading(NamedTuple):
    """Bytes that the process has read since its start, and how many of them came from storage, not the page cache."""

    read_bytes: int
    storage_bytes: int

    def since(self, earlier: Reading) -> Reading:
        """Return what was read after an earlier reading."""
        return Reading(self.read_bytes - earlier.read_bytes, self.storage_bytes - earlier.storage_bytes)


def usable_cores() -> int:
    """Return the number of CPU cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_bytes() -> int:
    """Return the memory that this process may use: the machine's, or less if a control group limits it."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        return min(machine, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError):  # ValueError: max
        return machine


def has_cpu_quota() -> bool:
    """Return whether a control group limits the CPU time of this process, as in a container with fewer cores."""
    try:
        quota = Path("/sys/fs/cgroup/cpu.max").read_text().split()[0]
    except (OSError, IndexError):
        return False
    return quota != "max"


def resident_mib() -> float | None:
    """Return the resident memory of the process in MiB, or None if unknown."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def bytes_read() -> Reading | None:
    """Return what the process has read so far, or None if unknown."""
    try:
        lines = Path("/proc/self/io").read_text().splitlines()
        values = {name: int(value) for name, _, value in (line.partition(":") for line in lines)}
        return Reading(values["rchar"], values["read_bytes"])
    except (OSError, KeyError, ValueError):
        return None
