"""Keeps what was found out about a long recording, so that it is not found out again for each of its parts."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Generic, TypeVar

from preprocess.watched_file import WatchedFile

MAX_RECORDINGS = 256
Kept = TypeVar("Kept")


class RecordingCache(Generic[Kept]):
    """What was found out about the last recordings of which parts were read.

    Args:
        find: reads a recording from its start, and tells what is kept of it.
    """

    def __init__(self, find: Callable[[WatchedFile], Kept]):
        self._find = find
        self._kept: dict[tuple[int, ...], Kept] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, file: WatchedFile) -> Kept:
        """What is kept of the recording; a file with another size or time than before is another recording.

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
