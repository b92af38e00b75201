"""Open files for libsndfile and FFmpeg: one keeps the error of a failed read, one reads slices as bytes have them."""

from __future__ import annotations

import errno
import io
from typing import Any

from preprocess.utterance import Reason, Rejected

MAX_SLICE_BYTES = 1 << 28  # four hours of mp3 at 128 kbit/s


class WatchedFile(io.RawIOBase):
    """A file that keeps the error of a read that fails: libsndfile and FFmpeg take such a read for the end."""

    def __init__(self, file: io.RawIOBase):
        self._file = file
        self.error: OSError | None = None

    def readinto(self, buffer: Any) -> int:
        try:
            return self._file.readinto(buffer) or 0
        except OSError as error:
            self.error = error
            return 0

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        try:
            return self._file.seek(offset, whence)
        except OSError as error:  # libsndfile could not pass it on
            if error.errno != errno.EINVAL:  # that of a place that no file has
                self.error = error
            return self._file.tell()

    def tell(self) -> int:
        return self._file.tell()

    def fileno(self) -> int:
        return self._file.fileno()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True


class FileSlices:
    """Reads a slice of a file where bytes would give one: `FileSlices(file)[8:16]`."""

    def __init__(self, file: WatchedFile):
        self._file = file
        self._size = file.seek(0, io.SEEK_END)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, place: slice) -> bytes:
        start, stop, _ = place.indices(self._size)
        if stop - start > MAX_SLICE_BYTES:
            message = f"over {MAX_SLICE_BYTES} bytes at once; state where parts end, and make a FLAC of the recording"
            raise Rejected(Reason.UNDECODED_LENGTH, message)
        self._file.seek(start)
        data = bytearray()
        while len(data) < stop - start and (more := self._file.read(stop - start - len(data))):
            data += more
        return bytes(data)
