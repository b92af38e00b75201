"""Locks on a dataset: one writer, or any number of readers.

The operating system's lock (flock) on `DATA/.lock` decides, and ends with its process however that ends. The file's
content names the holder and the time. The content that a killed writer left tells the next writer which command was
interrupted, and which cluster job may still be running for it.

Object stores and some file systems have no locks. There the content alone decides, and it outlives a killed writer
(`--break-lock`). Two writers that start within the same moment are not kept apart there, and a writer does not see
readers.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NoReturn

from shared.errors import UserError
from shared.files import flock_file, local_path, remove_temporary_files
from shared.layout import Layout
from shared.lock_holder import ClusterJob, LockBackend, LockFile, LockHolder, LockObject, read_holder
from shared.publication import complete_publication
from shared.storage_path import RemoteStoragePath, StoragePath


class Lock:
    """A dataset's write lock, held by this process."""

    def __init__(self, backend: LockBackend, *, holder: LockHolder, stale: LockHolder | None, is_broken: bool):
        # the holder that an interrupted writer left here; its job is now this process's to look after
        self.stale, self.is_broken = stale, is_broken
        self._backend, self._holder = backend, holder.model_copy(update={"job": stale.job if stale else None})
        self._write()

    def set_job(self, job: ClusterJob | None) -> None:
        """Record the cluster job that works for this process, before the job starts; None after the job has ended."""
        self._holder = self._holder.model_copy(update={"job": job})
        self._write()

    def release(self) -> None:
        """Clear the content, unless a job may still be running."""
        if self._holder.job is None:
            self._backend.write(b"")

    def _write(self) -> None:
        self._backend.write(self._holder.model_dump_json(indent=1).encode())


@contextlib.contextmanager
def write_lock(
    root: StoragePath, *, command: str, break_lock: bool = False, on_any_host: bool = False
) -> Iterator[Lock]:
    """Hold a dataset for writing, alone; first finish a publication that was interrupted.

    The content that a killed writer left blocks writers on other machines, because its cluster job may go on. Set
    `on_any_host` for commands without such jobs: then the system's lock is enough for another machine to take over.

    Raises:
        UserError: another process holds the dataset, or may hold it; `break_lock` states that a writer on another
            machine is gone.
    """
    with contextlib.ExitStack() as files:
        try:
            root.mkdir(parents=True, exist_ok=True)
            backend, file = _open_backend(Layout(root).lock, files=files)
        except OSError as error:
            raise UserError(f"{error.filename}: {error.strerror}; expected a folder that can be written to") from error
        flock_held = file is not None and _flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB, root=root)
        stale = read_holder(backend)
        is_gone = flock_held and (on_any_host or (stale is not None and stale.host == socket.gethostname()))
        if stale is not None and not break_lock and not is_gone:
            message = f"{root}: locked by {stale}; wait for it; if it is gone, give --break-lock"
            raise UserError(message)
        lock = _acquire(backend, command=command, stale=stale, is_broken=break_lock, root=root)
        try:
            if flock_held:
                _remove_temporary_files(Layout(root))
            yield lock
        except BaseException:
            with contextlib.suppress(OSError):  # of two errors the first is the one to report
                lock.release()
            raise
        _release(lock, path=Layout(root).lock)


def _remove_temporary_files(layout: Layout) -> None:
    """Safe with the system's lock only: nobody else writes or reads now."""
    try:
        for folder in (layout.root, layout.validation, *layout.folders):
            remove_temporary_files(folder)
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}; a killed run left it; remove it and run again") from error


def _release(lock: Lock, *, path: StoragePath) -> None:
    try:
        lock.release()
    except OSError as error:
        message = "all is done, but the lock still names this process; a writer on another machine has to break it"
        raise UserError(f"{error.filename or path}: {error.strerror}; {message}") from error


def _open_backend(path: StoragePath, *, files: contextlib.ExitStack) -> tuple[LockBackend, BinaryIO | None]:
    """The storage of the lock's content, and the open file for the system's lock, if there is one."""
    if isinstance(path, RemoteStoragePath):
        return LockObject(path), None
    # never through a link, as it will be written to
    descriptor = os.open(local_path(path), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    file = files.enter_context(os.fdopen(descriptor, "r+b", buffering=0))
    return LockFile(file), file


def _acquire(
    backend: LockBackend, *, command: str, stale: LockHolder | None, is_broken: bool, root: StoragePath
) -> Lock:
    try:
        lock = Lock(backend, holder=LockHolder.of_this_process(command), stale=stale, is_broken=is_broken)
        complete_publication(Layout(root))
    except OSError as error:
        raise UserError(f"{error.filename or root}: {error.strerror}; fix it and run again") from error
    return lock


@contextlib.contextmanager
def read_lock(root: StoragePath) -> Iterator[None]:
    """Keep writers away from a dataset; first finish a publication that was interrupted.

    Raises:
        UserError: a writer holds the dataset, or there is a publication to finish and the file system has no locks.
    """
    with _shared_lock(root):
        pass  # report a live writer before finish_publication would wait for it
    finish_publication(Layout(root))
    with _shared_lock(root):
        yield


@contextlib.contextmanager
def _shared_lock(root: StoragePath) -> Iterator[None]:
    path = Layout(root).lock
    if isinstance(path, RemoteStoragePath):
        _refuse_writer(LockObject(path), root=root)
        yield
        return
    file = _open_for_reading(local_path(path), create=Layout(root).info.is_file())
    if file is None:
        yield
        return
    with file:
        if not _flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB, root=root):
            _refuse_writer(LockFile(file), root=root)
        yield


def _open_for_reading(path: Path, *, create: bool) -> BinaryIO | None:
    """The lock file, also for users who may not write it; None without a dataset, or where it cannot be created."""
    for mode in ("a+b", "rb") if create else ("rb",):
        with contextlib.suppress(OSError):
            return path.open(mode)
    return None


def _flock(file: BinaryIO, operation: int, *, root: StoragePath) -> bool:
    """Take the system's lock; False where the file system has none."""
    try:
        return flock_file(file, operation)
    except BlockingIOError as error:
        holder = read_holder(LockFile(file))
        if holder is None:
            raise UserError(
                f"{root}: another process reads this dataset, such as a training; wait for it, or end it"
            ) from error
        raise UserError(f"{root}: {holder} is writing here; wait for it, or end it") from error
    except OSError as error:
        raise UserError(f"{root}: {error.strerror}; expected a folder whose files can be locked") from error


def _refuse_writer(backend: LockBackend, *, root: StoragePath) -> None:
    holder = read_holder(backend)
    if holder is not None:
        gone = "if it is gone, run what it did again with --break-lock"
        raise UserError(f"{root}: {holder} is writing here; wait for it; {gone}")


def _refuse_unfinished(backend: LockBackend, *, root: StoragePath) -> NoReturn:
    _refuse_writer(backend, root=root)
    raise UserError(
        f"{root}: a publication was interrupted; run the same command again that published, which finishes it"
    )


def finish_publication(layout: Layout) -> None:
    """Finish the publication of a writer that was killed; every reader calls this first.

    Where no system lock keeps two readers apart, the next writer finishes it.

    Raises:
        UserError: there is one to finish, and the dataset cannot be written to or locked.
    """
    if not layout.journal.is_file():
        return
    try:
        if isinstance(layout.lock, RemoteStoragePath):
            _refuse_unfinished(LockObject(layout.lock), root=layout.root)
        with local_path(layout.lock).open("a+b") as file:
            if not flock_file(file, fcntl.LOCK_EX):
                _refuse_unfinished(LockFile(file), root=layout.root)
            complete_publication(layout)
    except OSError as error:
        where = error.filename or layout.lock
        message = f"{layout.root}: a build was interrupted while it published, and {where} cannot be written to"
        raise UserError(f"{message} ({error.strerror}); open the dataset once where it can be") from error
