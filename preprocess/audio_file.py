"""Reads the files of recordings, whole or in part; tries again where a network file system fails for a moment."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import stat
import time
from pathlib import Path

from preprocess.audio_parts import read_part
from preprocess.parts import containing_file, names_a_file, split_cell, split_member, split_part
from preprocess.utterance import Reason, Rejected
from shared.files import file_sha256

# Network file systems fail for a moment: the errors that are tried again, and the pauses before each attempt.
TRANSIENT = frozenset(
    getattr(errno, name)
    for name in ("EIO", "ESTALE", "ETIMEDOUT", "EAGAIN", "ECONNRESET", "EHOSTDOWN", "EHOSTUNREACH", "ENETUNREACH")
)
PAUSES_S = (0.1, 0.5, 2.0)

# 20 s of 192 kHz stereo float64 are 61 MB; a larger file is not an utterance.
MAX_FILE_BYTES = 1 << 28


def read_audio_file(path: str) -> bytes:
    """Read a recording; try again after growing pauses if the disk fails.

    Args:
        path: of a file, or of something inside it (`preprocess.parts`), however long the file is.

    Returns:
        The bytes of the file, the member or the cell; of a part those of a wav that holds its samples.

    Raises:
        Rejected: the file is absent, not a regular file, or too large; or it does not hold what the path names.
        OSError: the disk failed at every attempt; the utterance itself may be valid.
    """
    for pause_s in PAUSES_S:
        try:
            return _read_audio_file(path)
        except OSError as error:
            if error.errno not in TRANSIENT:
                raise
        time.sleep(pause_s)
    return _read_audio_file(path)


def _read_audio_file(path: str) -> bytes:
    with _open(containing_file(path)) as file:
        if part := split_part(path):
            return read_part(file, start_s=part.start_s, end_s=part.end_s)
        if cell := split_cell(path):
            from preprocess.parquet_cell import read_parquet_cell  # with pyarrow, which other recordings do without

            return read_parquet_cell(file, row=cell.row, column=cell.column, max_bytes=MAX_FILE_BYTES)
        member = split_member(path)
        size = os.fstat(file.fileno()).st_size if member is None else member.size_bytes
        if size > MAX_FILE_BYTES:
            raise Rejected(Reason.UNDECODED_LENGTH, f"over {MAX_FILE_BYTES} bytes: {path}")
        with open(file.fileno(), "rb", closefd=False) as buffered:  # `FileIO.read` may return less than there is
            if member is None:
                return buffered.read(MAX_FILE_BYTES)
            buffered.seek(member.start)
            data = buffered.read(size)
    if len(data) < size:
        raise Rejected(Reason.TRUNCATED_AUDIO, f"{len(data)} of {size} bytes: the archive is cut off: {path}")
    return data


def _open(path: str) -> io.FileIO:
    """Open a regular file; without waiting, because opening a named pipe would wait for its writer for ever."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError) as error:
        raise Rejected(Reason.MISSING_AUDIO, f"{error.strerror}: {path}") from error
    except OSError as error:
        if error.errno not in (errno.ENAMETOOLONG, errno.ELOOP, errno.ENXIO):
            raise
        raise Rejected(Reason.MISSING_AUDIO, f"{error.strerror}: {path[:80]}…") from error
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        found = os.strerror(errno.EISDIR) if stat.S_ISDIR(mode) else "not a regular file"
        raise Rejected(Reason.MISSING_AUDIO, f"{found}: {path}")
    return io.FileIO(descriptor)


def recording_sha256(path: str) -> tuple[str, str]:
    """(sha256, "") of what `read_audio_file` reads; ("", reason) if it cannot be read."""
    try:
        return hash_recording(path), ""
    except (OSError, ValueError, Rejected) as error:
        return "", read_fault(error)


def hash_recording(path: str) -> str:
    """The sha256 of what `read_audio_file` reads; a file may be of any size.

    Raises:
        OSError: the file is absent, or the disk failed.
        ValueError: the path is not a valid one, e.g. with a null byte.
        Rejected: it is no regular file, or does not hold what the path names.
    """
    if not stat.S_ISREG(Path(containing_file(path)).stat().st_mode):  # reading a device or a pipe may never end
        raise Rejected(Reason.MISSING_AUDIO, "no regular file")
    return file_sha256(Path(path)) if names_a_file(path) else hashlib.sha256(read_audio_file(path)).hexdigest()


def read_fault(error: Exception) -> str:
    """Why a recording cannot be read, in a few words."""
    return getattr(error, "strerror", None) or str(error)


def read_through(path: str) -> None:
    """Read the bytes of a recording, or of the file that it lies in, without decoding them.

    Raises:
        Rejected: the file is absent or not a regular file.
        OSError: the disk failed.
    """
    with _open(containing_file(path)) as file:
        while file.read(1 << 20):
            pass
