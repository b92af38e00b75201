"""Writing that survives a crash: a file has its name only once it is whole and on the disk.

An object store does that by itself: an object has its name only once it is whole, and is kept from then on.
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

# A file system without locks: what is written in a file has to do, as in an object store.
_UNSUPPORTED = (errno.ENOTSUP, errno.ENOSYS, errno.ENOLCK)

_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{32}\.tmp", re.DOTALL)


@contextlib.contextmanager
def new_file(path: StoragePath, *, durable: bool = True) -> Iterator[BinaryIO]:
    """A file under a temporary name, that gets its own at the end; two writers of one name do not meet.

    One that need not be `durable` is whole too, unless the machine itself stops.
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
    """A name beside a path's own, for what is to get that; no two are the same."""
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")


def temporary_files_of(path: Path) -> Iterator[Path]:
    """What stands under such names of a path: writers that go on, or that were killed."""
    return path.parent.glob(f".{glob.escape(path.name)}.{'[0-9a-f]' * 32}.tmp")


def remove_temporary_files(folder: StoragePath) -> None:
    """Remove what writers that were killed left under temporary names; nobody may write there meanwhile.

    An object store has no such, and nothing is removed through a link.
    """
    if isinstance(folder, RemoteStoragePath) or local_path(folder).is_symlink() or not folder.is_dir():
        return
    for path in local_path(folder).iterdir():
        if _TEMPORARY.fullmatch(path.name) and path.is_file():
            path.unlink(missing_ok=True)


def local_path(path: StoragePath) -> Path:
    """The path of what lies on a disk.

    Raises:
        TypeError: it lies elsewhere.
    """
    if not isinstance(path, Path):
        raise TypeError(f"{path} is not on a disk")
    return path


def write_bytes(path: StoragePath, data: bytes, *, durable: bool = True) -> None:
    """Write a whole file."""
    with new_file(path, durable=durable) as file:
        file.write(data)


def write_json(path: StoragePath, value: pydantic.BaseModel | dict | list, *, durable: bool = True) -> None:
    """Write a document."""
    if isinstance(value, pydantic.BaseModel):
        value = value.model_dump(mode="json")
    write_bytes(path, (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode(), durable=durable)


def link_file(path: StoragePath, target: StoragePath) -> None:
    """The file under one more name, in place of what had it; a copy where there are no hard links."""
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
        temporary.unlink(missing_ok=True)  # renaming does nothing where both names are one file's


def flock_file(file: IO[Any], operation: int) -> bool:
    """Take the system's lock of an open file; False where its file system has none.

    Raises:
        BlockingIOError: another has it, and the operation is not to wait.
        OSError: the disk.
    """
    try:
        fcntl.flock(file, operation)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        return False
    return True


def fsync_path(path: StoragePath) -> None:
    """Bring a file or folder to the disk; what a store has taken it keeps."""
    if isinstance(path, RemoteStoragePath):
        return
    descriptor = os.open(local_path(path), os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_tree(folder: StoragePath) -> None:
    """A folder and all in it, also where the worker of a job that was cancelled still writes there for a moment.

    Raises:
        OSError: the disk, or somebody writes there on and on.
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
    """Whether two files hold the same bytes."""
    if isinstance(path, Path) and isinstance(other, Path):
        return filecmp.cmp(path, other, shallow=False)
    return path.stat().st_size == other.stat().st_size and file_sha256(path) == file_sha256(other)


def bytes_sha256(data: bytes) -> str:
    """The sha256 of what a file would hold."""
    return hashlib.sha256(data).hexdigest()


def file_sha256(path: StoragePath) -> str:
    """The sha256 of a file, read in pieces."""
    if isinstance(path, Path):
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    digest = hashlib.sha256()
    with path.open("rb") as remote:
        while piece := remote.read(CHUNK_BYTES):
            digest.update(piece)
    return digest.hexdigest()
