"""Who works on a dataset: one writer, or any number of readers.

The system's own lock on `DATA/.lock` decides, and ends with its process however that ends. The file's content says
who holds it and since when. What a killed writer left there tells the next one what was cut short, and which job of
a cluster may still be running for it.
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import fcntl
import getpass
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pydantic

from shared.errors import UserError
from shared.layout import Layout
from shared.publication import complete_publication, finish_publication

# A file system without such locks: the content alone has to do.
_UNSUPPORTED = (errno.ENOTSUP, errno.ENOSYS, errno.ENOLCK)


class Job(pydantic.BaseModel):
    """A job of a cluster, which its driver's death does not end."""

    model_config = pydantic.ConfigDict(frozen=True)

    master: str
    name: str


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
        return cls(command=command, user=_user(), host=socket.gethostname(), pid=os.getpid(), since=now)

    def __str__(self) -> str:
        return f"{self.command} of {self.user} on {self.host} (process {self.pid}, since {self.since})"


class Lock:
    """A dataset's lock in this process' hands."""

    def __init__(self, file: BinaryIO, *, owner: Owner, left: Owner | None, is_broken: bool):
        # what a writer that was cut short left here; its job is this one's to care for
        self.left, self.is_broken = left, is_broken
        self._file, self._owner = file, owner.model_copy(update={"job": left.job if left else None})
        self._write()

    def set_job(self, job: Job | None) -> None:
        """Note the job that works for this process from now on, before it starts; None once it has ended."""
        self._owner = self._owner.model_copy(update={"job": job})
        self._write()

    def release(self) -> None:
        """Leave no trace, unless a job may still be running."""
        if self._owner.job is None:
            self._file.truncate(0)

    def _write(self) -> None:
        self._file.seek(0)
        self._file.truncate()
        self._file.write(self._owner.model_dump_json(indent=1).encode())
        self._file.flush()


@contextlib.contextmanager
def writing(root: Path, *, command: str, break_lock: bool = False) -> Iterator[Lock]:
    """Be the only one at the dataset; a publication that was cut short is finished first.

    Raises:
        UserError: another process is at it, or may be: `break_lock` says that one on another machine is gone.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        file = Layout(root).lock.open("a+b")
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}; wanted a folder that can be written to") from error
    with file:
        proven = _flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB, root=root)
        left = _read_owner(file)
        if left is not None and not break_lock and not (proven and left.host == socket.gethostname()):
            message = f"{root}: locked by {left}; wait for it; if it is gone, give --break-lock"
            raise UserError(message)
        lock = _take(file, command=command, left=left, is_broken=break_lock, root=root)
        try:
            yield lock
        finally:
            lock.release()


def _take(file: BinaryIO, *, command: str, left: Owner | None, is_broken: bool, root: Path) -> Lock:
    try:
        lock = Lock(file, owner=Owner.of_this_process(command), left=left, is_broken=is_broken)
        complete_publication(Layout(root))
    except OSError as error:
        raise UserError(
            f"{error.filename or root}: {error.strerror}; nothing was done; mend it and run again"
        ) from error
    return lock


@contextlib.contextmanager
def reading(root: Path) -> Iterator[None]:
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
def _shared(root: Path) -> Iterator[None]:
    try:
        file = Layout(root).lock.open("rb")
    except OSError:  # a copy that nobody has written to, or one that is not ours to lock
        yield
        return
    with file:
        _flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB, root=root)
        yield


def _flock(file: BinaryIO, operation: int, *, root: Path) -> bool:
    """Take the system's lock; False where the file system has none."""
    try:
        fcntl.flock(file, operation)
    except BlockingIOError as error:
        owner = _read_owner(file)
        if owner is None:
            raise UserError(f"{root}: another process reads this dataset; wait for it, or end it") from error
        raise UserError(f"{root}: {owner} is writing here; wait for it, or end it") from error
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise UserError(f"{root}: {error.strerror}; wanted a folder whose files can be locked") from error
        return False
    return True


def _read_owner(file: BinaryIO) -> Owner | None:
    """What the lock says; None where it is free, or a kill met its writing."""
    file.seek(0)
    try:
        return Owner.model_validate(json.loads(file.read(1 << 16)))
    except (ValueError, RecursionError):
        return None


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return str(os.getuid())
