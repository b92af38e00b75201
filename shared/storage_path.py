"""A file or folder of a dataset, wherever it lies: on a disk (`pathlib.Path`) or in an object store.

What reads and writes datasets asks of a place only what both can do. What only a disk can (syncs, links, locks) stands
in `shared.files` and `shared.locks`, which tell the two apart.
"""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Iterator
from pathlib import PurePath
from typing import BinaryIO, Literal, Protocol, Self


class FileStat(Protocol):
    """What is known of a file without reading it."""

    @property
    def st_size(self) -> int: ...

    @property
    def st_mtime(self) -> float: ...


class StoragePath(Protocol):
    """The part of pathlib's interface that datasets are read and written with; nothing here needs a disk."""

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
    """What an object store has in place of a disk's syncs and links; a class of such places names it as its base."""

    @abc.abstractmethod
    def new_object(self) -> contextlib.AbstractContextManager[BinaryIO]:
        """A file that is stored under this name at the end, whole, or not at all where the body fails."""

    @abc.abstractmethod
    def copy_to(self, target: Self) -> None:
        """A second object with the same content, in place of what had that name."""

    @abc.abstractmethod
    def remove_tree(self) -> None:
        """Everything below this name."""
