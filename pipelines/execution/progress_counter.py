"""Counts processed elements in a worker; imports nothing but files, because every worker imports it."""

from __future__ import annotations

import time

from shared.storage_path import RemoteStoragePath, StoragePath

INTERVAL_S = 0.5
# An object store takes a request of about 50 ms per file, a disk 50 μs.
REMOTE_INTERVAL_S = 10.0


class ProgressCounter:
    """Counts the elements of one shard in a file, which it writes at most once per `interval_s`."""

    def __init__(self, folder: StoragePath, *, name: str):
        folder.mkdir(exist_ok=True)  # no parents: the disk may have been unmounted since the job began
        self._path, self._interval_s = folder / name, interval_s(folder)
        self._done, self._next_s = 0, 0.0

    def add(self, count: int = 1) -> None:
        """Count more processed elements."""
        self._done += count
        if time.monotonic() >= self._next_s:
            self.flush()

    def flush(self) -> None:
        self._path.write_text(str(self._done))
        self._next_s = time.monotonic() + self._interval_s


def interval_s(folder: StoragePath) -> float:
    """Seconds between two writes, and between two reads, of the counts."""
    return REMOTE_INTERVAL_S if isinstance(folder, RemoteStoragePath) else INTERVAL_S
