"""A temporary work folder for one run; a later run removes it if the run was killed."""

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
MAX_AGE_S = 24 * 3600.0  # where locks do not tell whether the process is alive


@contextlib.contextmanager
def new_workdir(parent: StoragePath) -> Iterator[StoragePath]:
    """Create an empty folder below `parent` and remove it at the end; first remove abandoned ones.

    The run holds a lock on a file in its folder, which the system releases when the process ends. Without locks (in an
    object store, or on some network file systems) folders are removed after a day.

    Raises:
        OSError: the folder cannot be created.
    """
    with (
        _new_local_workdir(local_path(parent))
        if not isinstance(parent, RemoteStoragePath)
        else _new_remote_workdir(parent) as folder
    ):
        yield folder


@contextlib.contextmanager
def _new_remote_workdir(parent: RemoteStoragePath) -> Iterator[StoragePath]:
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
def _new_local_workdir(parent: Path) -> Iterator[Path]:
    parent.mkdir(exist_ok=True)
    for folder in parent.glob(f"{PREFIX}*"):
        _remove_unless_in_use(folder)
    folder, lock = _create_locked(parent)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.close()


def _remove_unless_in_use(folder: Path) -> None:
    """Remove a folder unless a live process holds its lock."""
    try:
        with (folder / LOCK).open("a") as file:
            if flock_file(file, fcntl.LOCK_EX | fcntl.LOCK_NB) or _is_old(folder / LOCK):
                shutil.rmtree(folder)
    except (BlockingIOError, FileNotFoundError, NotADirectoryError):  # in use, or removed by another run
        return


def _is_old(lock: StoragePath) -> bool:
    return time.time() - lock.stat().st_mtime > MAX_AGE_S


def _create_locked(parent: Path) -> tuple[Path, TextIO]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        with contextlib.suppress(FileNotFoundError):  # removed by another run before it was locked
            lock = (folder / LOCK).open("a")
            flock_file(lock, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(lock.fileno()), (folder / LOCK).stat()):
                return folder, lock
