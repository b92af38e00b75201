"""Keeps what was found out about a long recording, so that it is not found out again for each of its parts."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Generic, TypeVar

from preprocess.watched_file import WatchedFile

MAX_RECORDINGS = 256
Kept = TypeVar("Kept")


class RecordingCache(Generic[Kept]):
    """Keeps one fact about each recording, of the MAX_RECORDINGS that were read last.

    Args:
        find: reads a recording from its start and returns the fact.
    """

    def __init__(self, find: Callable[[WatchedFile], Kept]):
        self._find = find
        self._kept: dict[tuple[int, ...], Kept] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, file: WatchedFile) -> Kept:
        """The fact about a recording. A file whose size or times have changed is another recording.

        Raises:
            Rejected: `find` rejects the recording.
        """
        state = os.fstat(file.fileno())
        key = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
        if key in self._kept:
            return self._kept[key]
        file.seek(0)
        found = self._find(file)
        if file.error is None:  # else a reader took the read that failed for the end
            if len(self._kept) >= MAX_RECORDINGS:
                self._kept.pop(next(iter(self._kept)), None)
            self._kept[key] = found
        return found
