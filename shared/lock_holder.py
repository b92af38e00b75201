"""The content of a dataset's lock: which process holds it, and how that is stored on a disk or in an object store."""

from __future__ import annotations

import datetime
import getpass
import json
import os
import socket
from typing import BinaryIO, Protocol

import pydantic

from shared.files import write_bytes
from shared.storage_path import RemoteStoragePath

MAX_BYTES = 1 << 16


class ClusterJob(pydantic.BaseModel):
    """A job on a cluster. It goes on when the process that submitted it (the driver) dies."""

    model_config = pydantic.ConfigDict(frozen=True)

    master: str
    name: str
    work: str  # digest of the requested build; a job with another digest cannot be reused
    since: datetime.datetime


class LockHolder(pydantic.BaseModel):
    """The process that holds a lock."""

    model_config = pydantic.ConfigDict(frozen=True)

    command: str
    user: str
    host: str
    pid: int
    since: str
    job: ClusterJob | None = None

    @classmethod
    def of_this_process(cls, command: str) -> LockHolder:
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        return cls(command=command, user=user_name(), host=socket.gethostname(), pid=os.getpid(), since=now)

    def __str__(self) -> str:
        return f"{self.command} of {self.user} on {self.host} (process {self.pid}, since {self.since})"


class LockBackend(Protocol):
    """Storage for a lock's content."""

    def read(self) -> bytes: ...

    def write(self, content: bytes) -> None: ...


class LockFile:
    """Lock content in an open, unbuffered file; with a buffer, closing would retry a write that a full disk refused."""

    def __init__(self, file: BinaryIO):
        self._file = file

    def read(self) -> bytes:
        self._file.seek(0)
        return self._file.read(MAX_BYTES)

    def write(self, content: bytes) -> None:
        """Overwrite the content and truncate last: a kill or a full disk leaves the old holder or the new one."""
        self._file.seek(0)
        rest = memoryview(content)
        while rest:
            rest = rest[self._file.write(rest) :]
        self._file.truncate(len(content))


class LockObject:
    """Lock content in an object of an object store."""

    def __init__(self, path: RemoteStoragePath):
        self._path = path

    def read(self) -> bytes:
        return self._path.read_bytes() if self._path.is_file() else b""

    def write(self, content: bytes) -> None:
        if content:
            write_bytes(self._path, content)
        else:
            self._path.unlink(missing_ok=True)


def read_holder(backend: LockBackend) -> LockHolder | None:
    """The holder that a lock names, ignoring the rest of a longer, older content; None for a free lock."""
    try:
        content, _ = json.JSONDecoder().raw_decode(backend.read().decode(errors="replace"))
        return LockHolder.model_validate(content)
    except (ValueError, RecursionError):
        return None


def user_name() -> str:
    """The name of the user who runs this process, or the user's number where there is no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return str(os.getuid())
