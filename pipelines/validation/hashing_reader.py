"""Reads a file once from front to back and computes its sha256 on the way."""

from __future__ import annotations

import hashlib
from typing import BinaryIO

import numpy as np

# Small enough that a block is hashed and checked while it is in the processor's cache.
BLOCK_BYTES = 1 << 19


class HashingReader:
    """A forward-moving view of a file; its memory is one block, or one record if that is longer."""

    def __init__(self, file: BinaryIO):
        """`file` must be unbuffered and at its start."""
        self._file, self._digest = file, hashlib.sha256()
        self._buffer = np.empty(BLOCK_BYTES, np.uint8)
        self._start, self._held = 0, 0  # file offset of the buffer's first byte; number of valid bytes

    def view(self, offset_bytes: int, size_bytes: int) -> np.ndarray:
        """The bytes from an offset on, [N] uint8; fewer than requested at the end of the file.

        Offsets must not decrease. The next call overwrites the returned array.
        """
        if offset_bytes + size_bytes > self._start + self._held:
            self._move(offset_bytes, size_bytes)
        first = offset_bytes - self._start
        return self._buffer[first : min(first + size_bytes, self._held)]

    def sha256(self) -> str:
        """sha256 of the whole file; reads the rest of it."""
        self._move(self._start + self._held, 0)
        while self._fill():
            self._start += self._held
            self._held = 0
        return self._digest.hexdigest()

    def _move(self, offset_bytes: int, size_bytes: int) -> None:
        while offset_bytes > self._start + self._held:
            self._start, self._held = self._start + self._held, 0
            if not self._fill():
                self._start = offset_bytes
        kept = self._buffer[offset_bytes - self._start : self._held]
        if size_bytes > len(self._buffer):
            self._buffer = np.empty(size_bytes, np.uint8)
        self._buffer[: len(kept)] = kept
        self._start, self._held = offset_bytes, len(kept)
        while self._held < size_bytes and self._fill():
            pass

    def _fill(self) -> int:
        count = self._file.readinto(self._buffer[self._held :].data)  # type: ignore[attr-defined]
        self._digest.update(self._buffer[self._held : self._held + count].data)
        self._held += count
        return count
