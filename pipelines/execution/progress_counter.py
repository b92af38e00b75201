"""How far the workers are: the side of progress that imports nothing but files, as each worker has to import it."""

from __future__ import annotations

import time

from shared.storage_path import RemoteStoragePath, StoragePath

INTERVAL_S = 0.5
# A store takes a request per file, of some 50 ms, where a disk takes 50 μs.
REMOTE_INTERVAL_S = 10.0


class ProgressCounter:
    """The worker's side: counts elements of one shard into one file, at most so often as `interval_s` has it."""

    def __init__(self, folder: StoragePath, *, name: str):
        folder.mkdir(parents=True, exist_ok=True)
        self._path, self._interval_s = folder / name, interval_s(folder)
        self._done, self._next_s = 0, 0.0

    def add(self, count: int = 1) -> None:
        """So many more elements are done."""
        self._done += count
        if time.monotonic() >= self._next_s:
            self.flush()

    def flush(self) -> None:
        self._path.write_text(str(self._done))
        self._next_s = time.monotonic() + self._interval_s


def interval_s(folder: StoragePath) -> float:
    """How often counts are written and read."""
    return REMOTE_INTERVAL_S if isinstance(folder, RemoteStoragePath) else INTERVAL_S
