"""A folder for the files of one run, that a run after it removes if this one was killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from shared.files import flock_file, local_path, remove_tree
from shared.storage_path import RemoteStoragePath, StoragePath

PREFIX = ".work-"
LOCK = "lock"
KEPT_S = 24 * 3600.0  # where nobody can say whether its owner lives


@contextlib.contextmanager
def new_workdir(parent: StoragePath) -> Iterator[StoragePath]:
    """An empty folder below `parent`, gone at the end; those that nobody holds any more are swept first.

    Who uses one holds a lock on a file in it, which the system gives back however a process ends; in an object store
    or a file system without locks they are swept after a day.

    Raises:
        OSError: there can be no such folder.
    """
    with _local(local_path(parent)) if not isinstance(parent, RemoteStoragePath) else _remote(parent) as folder:
        yield folder


@contextlib.contextmanager
def _remote(parent: RemoteStoragePath) -> Iterator[StoragePath]:
    parent.mkdir(exist_ok=True)
    for old in parent.glob(f"{PREFIX}*"):
        if not (old / LOCK).is_file() or _is_old(old / LOCK):
            remove_tree(old)
    folder = parent / f"{PREFIX}{uuid.uuid4().hex}"
    folder.mkdir()
    (folder / LOCK).write_text("")
    try:
        yield folder
    finally:
        remove_tree(folder)


@contextlib.contextmanager
def _local(parent: Path) -> Iterator[Path]:
    parent.mkdir(exist_ok=True)
    for folder in parent.glob(f"{PREFIX}*"):
        _sweep(folder)
    folder, lock = _made(parent)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.close()


def _sweep(folder: Path) -> None:
    """Remove a folder unless its owner lives."""
    try:
        with (folder / LOCK).open("a") as file:
            if flock_file(file, fcntl.LOCK_EX | fcntl.LOCK_NB) or _is_old(folder / LOCK):
                shutil.rmtree(folder)
    except (BlockingIOError, FileNotFoundError, NotADirectoryError):  # it is in use, or another run was faster
        return


def _is_old(lock: StoragePath) -> bool:
    return time.time() - lock.stat().st_mtime > KEPT_S


def _made(parent: Path) -> tuple[Path, TextIO]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        with contextlib.suppress(FileNotFoundError):  # swept by another run before it was locked: make another
            lock = (folder / LOCK).open("a")
            flock_file(lock, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(lock.fileno()), (folder / LOCK).stat()):
                return folder, lock
