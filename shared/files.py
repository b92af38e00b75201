"""Writing that survives a crash: a file has its name only once it is whole and on the disk."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pydantic


@contextlib.contextmanager
def new_file(path: Path, *, durable: bool = True) -> Iterator[BinaryIO]:
    """A file under a temporary name, that gets its own at the end; two writers of one name do not meet.

    One that need not be `durable` is whole too, unless the machine itself stops.
    """
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_bytes(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Write a whole file."""
    with new_file(path, durable=durable) as file:
        file.write(data)


def write_json(path: Path, value: pydantic.BaseModel | dict | list, *, durable: bool = True) -> None:
    """Write a document."""
    if isinstance(value, pydantic.BaseModel):
        value = value.model_dump(mode="json")
    write_bytes(path, (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode(), durable=durable)


def link_file(path: Path, target: Path) -> None:
    """The file under one more name, in place of what had it; a copy where the file system has no hard links."""
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
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


def sync(path: Path) -> None:
    """Bring a file or folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def bytes_sha256(data: bytes) -> str:
    """The sha256 of what a file would hold."""
    return hashlib.sha256(data).hexdigest()


def file_sha256(path: Path) -> str:
    """The sha256 of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
