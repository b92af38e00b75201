"""A file that is read once, from front to back, and hashed on the way."""

from __future__ import annotations

import hashlib
from typing import BinaryIO

import numpy as np

# Small enough that what was read is hashed and taken apart while the processor's cache still holds it.
BLOCK_BYTES = 1 << 19


class HashingReader:
    """A place in a file that moves towards its end; memory is one block, or one record where that is longer."""

    def __init__(self, file: BinaryIO):
        """`file` is unbuffered and at its start."""
        self._file, self._digest = file, hashlib.sha256()
        self._buffer = np.empty(BLOCK_BYTES, np.uint8)
        self._start, self._held = 0, 0  # offset of the buffer's first byte in the file, and how many bytes it holds

    def view(self, offset_bytes: int, size_bytes: int) -> np.ndarray:
        """The bytes from an offset on, [N] uint8: fewer than asked for at the file's end.

        Offsets never go back. What is returned is overwritten by the next call.
        """
        if offset_bytes + size_bytes > self._start + self._held:
            self._move(offset_bytes, size_bytes)
        first = offset_bytes - self._start
        return self._buffer[first : min(first + size_bytes, self._held)]

    def sha256(self) -> str:
        """Of the whole file: what is left of it is read."""
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
