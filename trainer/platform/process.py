"""What the operating system knows of this process: cores, memory, bytes read. None where it does not tell."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple


class Reading(NamedTuple):
    """Bytes that the process asked for since it began, and those of them that storage had to give."""

    asked_bytes: int
    stored_bytes: int

    def since(self, earlier: Reading) -> Reading:
        """What was read after an earlier moment."""
        return Reading(self.asked_bytes - earlier.asked_bytes, self.stored_bytes - earlier.stored_bytes)


def usable_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def resident_mib() -> float | None:
    """Memory of the process that is in RAM."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def bytes_read() -> Reading | None:
    """The process's reading so far."""
    try:
        lines = Path("/proc/self/io").read_text().splitlines()
        values = {name: int(value) for name, _, value in (line.partition(":") for line in lines)}
        return Reading(values["rchar"], values["read_bytes"])
    except (OSError, KeyError, ValueError):
        return None
