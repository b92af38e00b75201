"""Atomic, durable writing of files: a file gets its name only when it is complete and on the disk.

Object stores guarantee this themselves: an object is visible only when it is complete, and is kept from then on.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import filecmp
import glob
import hashlib
import json
import os
import re
import shutil
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO

import pydantic

from shared.storage_path import RemoteStoragePath, StoragePath

CHUNK_BYTES = 1 << 22
_PAUSES_S = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)  # between attempts to empty a folder

# The errors of a file system without locks.
_UNSUPPORTED = (errno.ENOTSUP, errno.ENOSYS, errno.ENOLCK)

_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{32}\.tmp", re.DOTALL)


@contextlib.contextmanager
def new_file(path: StoragePath, *, durable: bool = True) -> Iterator[BinaryIO]:
    """Write a file under a temporary name and rename it at the end; concurrent writers do not interfere.

    Args:
        durable: flush to the disk before renaming. Without it the file is complete unless the machine itself stops.
    """
    if isinstance(path, RemoteStoragePath):
        with path.new_object() as file:
            yield file
        return
    temporary = temporary_path(local_path(path))
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.replace(local_path(path))
    finally:
        temporary.unlink(missing_ok=True)


def temporary_path(path: Path) -> Path:
    """A unique temporary path in the folder of `path`."""
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")


def temporary_files_of(path: Path) -> Iterator[Path]:
    """The temporary files of a path, left by writers that are running or were killed."""
    return path.parent.glob(f".{glob.escape(path.name)}.{'[0-9a-f]' * 32}.tmp")


def remove_temporary_files(folder: StoragePath) -> None:
    """Remove the temporary files of killed writers from a folder; the caller must be the only writer.

    Does nothing for object stores, which have no such files, and for links.
    """
    if isinstance(folder, RemoteStoragePath) or local_path(folder).is_symlink() or not folder.is_dir():
        return
    for path in local_path(folder).iterdir():
        if _TEMPORARY.fullmatch(path.name) and path.is_file():
            path.unlink(missing_ok=True)


def local_path(path: StoragePath) -> Path:
    """Return `path` as a path on a disk.

    Raises:
        TypeError: it is in an object store.
    """
    if not isinstance(path, Path):
        raise TypeError(f"{path} is not on a disk")
    return path


def write_bytes(path: StoragePath, data: bytes, *, durable: bool = True) -> None:
    """Write a file atomically."""
    with new_file(path, durable=durable) as file:
        file.write(data)


def write_json(path: StoragePath, value: pydantic.BaseModel | dict | list, *, durable: bool = True) -> None:
    """Write a JSON document atomically."""
    if isinstance(value, pydantic.BaseModel):
        value = value.model_dump(mode="json")
    write_bytes(path, (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode(), durable=durable)


def link_file(path: StoragePath, target: StoragePath) -> None:
    """Hard-link `path` as `target`, replacing it; copies where there are no hard links."""
    if isinstance(path, RemoteStoragePath) and isinstance(target, RemoteStoragePath):
        path.copy_to(target)
    else:
        _link(local_path(path), local_path(target))


def _link(path: Path, target: Path) -> None:
    temporary = temporary_path(target)
    try:
        os.link(path, temporary)
        temporary.replace(target)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS):
            raise
        with path.open("rb") as source, new_file(target) as copy:
            shutil.copyfileobj(source, copy)
    finally:
        temporary.unlink(missing_ok=True)  # renaming does nothing where both names already are one file


def flock_file(file: IO[Any], operation: int) -> bool:
    """Take the operating system's lock on an open file (flock); False on a file system without locks.

    Raises:
        BlockingIOError: another process holds the lock, and the operation does not wait.
        OSError: the disk failed.
    """
    try:
        fcntl.flock(file, operation)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        return False
    return True


def fsync_path(path: StoragePath) -> None:
    """Flush a file or folder to the disk; nothing to do in an object store."""
    if isinstance(path, RemoteStoragePath):
        return
    descriptor = os.open(local_path(path), os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_tree(folder: StoragePath) -> None:
    """Remove a folder and its content; tries again while a worker of a cancelled job still writes into it.

    Raises:
        OSError: the disk failed, or a process keeps writing into the folder.
    """
    if isinstance(folder, RemoteStoragePath):
        folder.remove_tree()
        return
    for pause_s in _PAUSES_S:
        try:
            shutil.rmtree(local_path(folder))
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.ENOENT) or not local_path(folder).exists():
                raise
        time.sleep(pause_s)
    shutil.rmtree(local_path(folder))


def has_same_bytes(path: StoragePath, other: StoragePath) -> bool:
    """True if two files hold the same bytes."""
    if isinstance(path, Path) and isinstance(other, Path):
        return filecmp.cmp(path, other, shallow=False)
    return path.stat().st_size == other.stat().st_size and file_sha256(path) == file_sha256(other)


def bytes_sha256(data: bytes) -> str:
    """The sha256 of bytes, as hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def file_sha256(path: StoragePath) -> str:
    """The sha256 of a file, as hexadecimal digits; the file is read in chunks."""
    if isinstance(path, Path):
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    digest = hashlib.sha256()
    with path.open("rb") as remote:
        while chunk := remote.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
