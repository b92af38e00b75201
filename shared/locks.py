"""Who works on a dataset: one writer, or any number of readers.

The system's own lock on `DATA/.lock` decides, and ends with its process however that ends. The file's content says
who holds it and since when. What a killed writer left there tells the next one what was cut short, and which job of
a cluster may still be running for it.

An object store has no locks, nor have some file systems: there the content alone decides, and outlives a killed writer
(`--break-lock`). Two writers that start within the same moment are not kept apart there, and a writer does not see who
reads.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import getpass
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

import pydantic

from shared.errors import UserError
from shared.files import local, sweep_temporaries, system_lock, write_bytes
from shared.layout import Layout
from shared.publication import complete_publication
from shared.storage_path import Place, RemotePlace

MAX_BYTES = 1 << 16


class Job(pydantic.BaseModel):
    """A job of a cluster, which its driver's death does not end."""

    model_config = pydantic.ConfigDict(frozen=True)

    master: str
    name: str
    work: str  # a digest of what it was asked for: one of another is of no use
    since: datetime.datetime


class Owner(pydantic.BaseModel):
    """The content of a held lock."""

    model_config = pydantic.ConfigDict(frozen=True)

    command: str
    user: str
    host: str
    pid: int
    since: str
    job: Job | None = None

    @classmethod
    def of_this_process(cls, command: str) -> Owner:
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        return cls(command=command, user=user_name(), host=socket.gethostname(), pid=os.getpid(), since=now)

    def __str__(self) -> str:
        return f"{self.command} of {self.user} on {self.host} (process {self.pid}, since {self.since})"


class Paper(Protocol):
    """What a lock's content is written on."""

    def read(self) -> bytes: ...

    def write(self, content: bytes) -> None: ...


class _File:
    """An open file, unbuffered: what a full disk refuses once is not tried again when it is closed."""

    def __init__(self, file: BinaryIO):
        self._file = file

    def read(self) -> bytes:
        self._file.seek(0)
        return self._file.read(MAX_BYTES)

    def write(self, content: bytes) -> None:
        """The new content over the old, whose rest goes last: a kill or a full disk leaves the one or the other."""
        self._file.seek(0)
        rest = memoryview(content)
        while rest:
            rest = rest[self._file.write(rest) :]
        self._file.truncate(len(content))


class _Object:
    """One of an object store."""

    def __init__(self, place: RemotePlace):
        self._place = place

    def read(self) -> bytes:
        return self._place.read_bytes() if self._place.is_file() else b""

    def write(self, content: bytes) -> None:
        if content:
            write_bytes(self._place, content)
        else:
            self._place.unlink(missing_ok=True)


class Lock:
    """A dataset's lock in this process' hands."""

    def __init__(self, paper: Paper, *, owner: Owner, left: Owner | None, is_broken: bool):
        # what a writer that was cut short left here; its job is this one's to care for
        self.left, self.is_broken = left, is_broken
        self._paper, self._owner = paper, owner.model_copy(update={"job": left.job if left else None})
        self._write()

    def set_job(self, job: Job | None) -> None:
        """Note the job that works for this process from now on, before it starts; None once it has ended."""
        self._owner = self._owner.model_copy(update={"job": job})
        self._write()

    def release(self) -> None:
        """Leave no trace, unless a job may still be running."""
        if self._owner.job is None:
            self._paper.write(b"")

    def _write(self) -> None:
        self._paper.write(self._owner.model_dump_json(indent=1).encode())


@contextlib.contextmanager
def writing(root: Place, *, command: str, break_lock: bool = False, on_any_host: bool = False) -> Iterator[Lock]:
    """Be the only one at the dataset; a publication that was cut short is finished first.

    What a killed writer left is in the way of those on other machines, for its job may go on; `on_any_host` where
    there are no such jobs, and a machine may take over from another: the system's lock is enough then.

    Raises:
        UserError: another process is at it, or may be: `break_lock` says that one on another machine is gone.
    """
    with contextlib.ExitStack() as files:
        try:
            root.mkdir(parents=True, exist_ok=True)
            paper, file = _opened(Layout(root).lock, files=files)
        except OSError as error:
            raise UserError(f"{error.filename}: {error.strerror}; wanted a folder that can be written to") from error
        proven = file is not None and _flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB, root=root)
        left = _owner(paper)
        is_gone = proven and (on_any_host or (left is not None and left.host == socket.gethostname()))
        if left is not None and not break_lock and not is_gone:
            message = f"{root}: locked by {left}; wait for it; if it is gone, give --break-lock"
            raise UserError(message)
        lock = _take(paper, command=command, left=left, is_broken=break_lock, root=root)
        try:
            if proven:
                _sweep(Layout(root))
            yield lock
        except BaseException:
            with contextlib.suppress(OSError):  # of two errors the first is the one to tell
                lock.release()
            raise
        _release(lock, path=Layout(root).lock)


def _sweep(layout: Layout) -> None:
    """Nobody else writes here now, or reads: not so where only the lock's content was believed."""
    try:
        for folder in (layout.root, layout.validation, *layout.folders):
            sweep_temporaries(folder)
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}; a killed run left it; remove it and run again") from error


def _release(lock: Lock, *, path: Place) -> None:
    try:
        lock.release()
    except OSError as error:
        message = "all is done, but the lock still names this process; a writer on another machine has to break it"
        raise UserError(f"{error.filename or path}: {error.strerror}; {message}") from error


def _opened(path: Place, *, files: contextlib.ExitStack) -> tuple[Paper, BinaryIO | None]:
    """What the lock is written on, and the open file that a system can lock."""
    if isinstance(path, RemotePlace):
        return _Object(path), None
    # never through a link, as it will be written to
    descriptor = os.open(local(path), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    file = files.enter_context(os.fdopen(descriptor, "r+b", buffering=0))
    return _File(file), file


def _take(paper: Paper, *, command: str, left: Owner | None, is_broken: bool, root: Place) -> Lock:
    try:
        lock = Lock(paper, owner=Owner.of_this_process(command), left=left, is_broken=is_broken)
        complete_publication(Layout(root))
    except OSError as error:
        raise UserError(f"{error.filename or root}: {error.strerror}; mend it and run again") from error
    return lock


@contextlib.contextmanager
def reading(root: Place) -> Iterator[None]:
    """Keep writers away from the dataset while the body runs; a publication that was cut short is finished first.

    Raises:
        UserError: one is at it.
    """
    with _shared(root):
        pass  # a writer that lives is told before anything waits for it
    finish_publication(Layout(root))
    with _shared(root):
        yield


@contextlib.contextmanager
def _shared(root: Place) -> Iterator[None]:
    path = Layout(root).lock
    if isinstance(path, RemotePlace):
        _refuse_owner(_Object(path), root=root)
        yield
        return
    file = _readable(local(path), makes=Layout(root).info.is_file())
    if file is None:
        yield
        return
    with file:
        if not _flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB, root=root):
            _refuse_owner(_File(file), root=root)
        yield


def _readable(path: Path, *, makes: bool) -> BinaryIO | None:
    """The lock's file, which a reader who may not write can lock too; None where there is no such dataset, or no lock
    in one that is not ours to change."""
    for mode in ("a+b", "rb") if makes else ("rb",):
        with contextlib.suppress(OSError):
            return path.open(mode)
    return None


def _flock(file: BinaryIO, operation: int, *, root: Place) -> bool:
    """Take the system's lock; False where the file system has none."""
    try:
        return system_lock(file, operation)
    except BlockingIOError as error:
        owner = _owner(_File(file))
        if owner is None:
            raise UserError(
                f"{root}: another process reads this dataset, such as a training; wait for it, or end it"
            ) from error
        raise UserError(f"{root}: {owner} is writing here; wait for it, or end it") from error
    except OSError as error:
        raise UserError(f"{root}: {error.strerror}; wanted a folder whose files can be locked") from error


def _refuse_owner(paper: Paper, *, root: Place) -> None:
    owner = _owner(paper)
    if owner is not None:
        gone = "if it is gone, run what it did again with --break-lock"
        raise UserError(f"{root}: {owner} is writing here; wait for it; {gone}")


def _owner(paper: Paper) -> Owner | None:
    """What the lock says, whatever an older one has left behind it; None where it is free."""
    try:
        said, _ = json.JSONDecoder().raw_decode(paper.read().decode(errors="replace"))
        return Owner.model_validate(said)
    except (ValueError, RecursionError):
        return None


def finish_publication(layout: Layout) -> None:
    """What a reader does first: nothing, or what a killed writer had left to do.

    Raises:
        UserError: there is something to do, and the dataset cannot be written to.
    """
    if not layout.journal.is_file():
        return
    try:
        if isinstance(layout.lock, RemotePlace):
            _refuse_owner(_Object(layout.lock), root=layout.root)
            complete_publication(layout)
            return
        with local(layout.lock).open("a+b") as file:
            if not system_lock(file, fcntl.LOCK_EX):
                _refuse_owner(_File(file), root=layout.root)
            complete_publication(layout)
    except OSError as error:
        where = error.filename or layout.lock
        message = f"{layout.root}: a build was cut short while it published, and {where} cannot be written to"
        raise UserError(f"{message} ({error.strerror}); open the dataset once where it can be") from error


def user_name() -> str:
    """Who runs this process; a number where that user has no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return str(os.getuid())
