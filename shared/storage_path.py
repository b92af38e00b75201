"""The interface of paths to a dataset's files: `pathlib.Path` on a disk, or a path in an object store.

Code that reads and writes datasets uses only this interface. Operations that only a disk has (flushing, links, locks)
are in `shared.files` and `shared.locks`, which distinguish the two.
"""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Iterator
from pathlib import PurePath
from typing import BinaryIO, Literal, Protocol, Self


class FileStat(Protocol):
    """Size and modification time of a file."""

    @property
    def st_size(self) -> int: ...

    @property
    def st_mtime(self) -> float: ...


class StoragePath(Protocol):
    """The part of pathlib's interface that reading and writing datasets needs; nothing in it requires a disk."""

    @property
    def name(self) -> str: ...

    @property
    def stem(self) -> str: ...

    @property
    def suffix(self) -> str: ...

    @property
    def parent(self) -> Self: ...

    def __truediv__(self, name: str | PurePath, /) -> Self: ...

    def __lt__(self, other: Self, /) -> bool: ...

    def __hash__(self) -> int: ...

    def with_name(self, name: str) -> Self: ...

    def with_suffix(self, suffix: str) -> Self: ...

    def relative_to(self, other: Self, /) -> PurePath: ...

    def absolute(self) -> Self: ...

    def exists(self) -> bool: ...

    def is_file(self) -> bool: ...

    def is_dir(self) -> bool: ...

    def stat(self) -> FileStat: ...

    def open(self, mode: Literal["rb"]) -> BinaryIO: ...

    def read_bytes(self) -> bytes: ...

    def read_text(self, encoding: str | None = None, errors: str | None = None) -> str: ...

    def write_text(self, data: str, encoding: str | None = None) -> int: ...

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None: ...

    def iterdir(self) -> Iterator[Self]: ...

    def glob(self, pattern: str) -> Iterator[Self]: ...

    def unlink(self, missing_ok: bool = False) -> None: ...

    def rename(self, target: Self) -> Self: ...

    def replace(self, target: Self) -> Self: ...


class RemoteStoragePath(StoragePath, abc.ABC):
    """Base class of object store paths: their replacements for a disk's temporary files and links."""

    @abc.abstractmethod
    def new_object(self) -> contextlib.AbstractContextManager[BinaryIO]:
        """Open an object for writing; it is stored whole when the body ends, or not at all if the body fails."""

    @abc.abstractmethod
    def copy_to(self, target: Self) -> None:
        """Copy the object to `target`, replacing it."""

    @abc.abstractmethod
    def remove_tree(self) -> None:
        """Remove everything below this name."""
