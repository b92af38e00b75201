"""Files and folders in an object store or on HDFS, through Beam's file systems, with pathlib's method names."""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import functools
import os
import shutil
import tempfile
import urllib.parse
import uuid
from collections.abc import Callable, Iterator
from pathlib import PurePath, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, Literal, NamedTuple

from shared.lock_holder import user_name
from shared.storage_path import RemoteStoragePath

if TYPE_CHECKING:
    from apache_beam.io.filesystem import FileSystem

WEBHDFS_PORT = 9870
_CHUNK_BYTES = 1 << 22


def file_system(url: str) -> FileSystem:
    """Beam's file system for a URL."""
    from apache_beam.io.filesystems import FileSystems

    parts = urllib.parse.urlsplit(url)
    if parts.scheme != "hdfs":
        return FileSystems.get_filesystem(url)
    from apache_beam.io.hadoopfilesystem import HadoopFileSystem

    # Beam takes these as options; the URL has them, so that workers need no options
    port = parts.port or WEBHDFS_PORT
    server = {"hdfs_host": parts.hostname, "hdfs_port": port, "hdfs_user": user_name(), "hdfs_full_urls": True}
    return HadoopFileSystem(server)


class RemoteState(NamedTuple):
    """Size and modification time of an object."""

    st_size: int
    st_mtime: float


@functools.total_ordering
class RemotePath(RemoteStoragePath):
    """A file or folder in a remote file system, with the methods of pathlib that datasets need.

    It is not an `os.PathLike`, so code that needs a local file refuses it. A folder of an object store is a prefix: it
    exists while an object has the prefix, and is never created. All errors of a file system are raised as OSError with
    `errno`, `strerror` and `filename`.
    """

    def __init__(self, url: str):
        scheme, _, rest = url.partition("://")
        self._url = f"{scheme}://{'/'.join(part for part in rest.split('/') if part not in ('', '.'))}"

    def __str__(self) -> str:
        return self._url

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._url!r})"

    def __reduce__(self) -> tuple[type[RemotePath], tuple[str]]:
        return RemotePath, (self._url,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemotePath) and self._url == other._url

    def __lt__(self, other: RemotePath) -> bool:
        return self._url.split("/") < other._url.split("/")

    def __hash__(self) -> int:
        return hash(self._url)

    def __truediv__(self, name: str | PurePath) -> RemotePath:
        return RemotePath(f"{self._url}/{name if isinstance(name, str) else name.as_posix()}")

    @property
    def name(self) -> str:
        return self._url.rpartition("/")[2]

    @property
    def stem(self) -> str:
        return PurePosixPath(self.name).stem

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.name).suffix

    @property
    def parent(self) -> RemotePath:
        head, _, _ = self._url.rpartition("/")
        return self if head.endswith("/") else RemotePath(head)

    def with_name(self, name: str) -> RemotePath:
        return self.parent / name

    def with_suffix(self, suffix: str) -> RemotePath:
        return self.parent / PurePosixPath(self.name).with_suffix(suffix).name

    def relative_to(self, other: RemotePath) -> PurePosixPath:
        """The path below another one; ValueError if it does not lie below it."""
        if self != other and not self._url.startswith(f"{other}/"):
            raise ValueError(f"{self} is not below {other}")
        return PurePosixPath(self._url.removeprefix(str(other)).lstrip("/"))

    def absolute(self) -> RemotePath:
        return self

    def exists(self) -> bool:
        return self._exists() or self.is_dir()

    def is_file(self) -> bool:
        return self._exists() and not (self._has_folders() and self.is_dir())

    def is_dir(self) -> bool:
        """True if an object has this prefix, or, in a file system with folders, if it can be listed."""
        if not self._has_folders():
            return bool(self._below(limit=1))
        try:
            self._below(limit=1)
        except OSError:  # Hadoop: it is a file, or does not exist
            return False
        return self._exists()

    def stat(self) -> RemoteState:
        """Size and modification time of a file."""
        if not self._exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))
        with self._translate_errors():
            found = file_system(self._url).metadata(self._url)
        return RemoteState(found.size_in_bytes, found.last_updated_in_seconds)

    def open(self, mode: Literal["rb"]) -> BinaryIO:
        """Open a file for reading, seekable; `new_object` writes."""
        if not self._exists():  # some stores report it at the first read only, each with its own error
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))
        with self._translate_errors():
            return file_system(self._url).open(self._url, compression_type=_uncompressed())

    def read_bytes(self) -> bytes:
        with self.open("rb") as file, self._translate_errors():
            return file.read()

    def read_text(self, encoding: str | None = None, errors: str | None = None) -> str:
        return self.read_bytes().decode(encoding or "utf-8", errors or "strict")

    def write_text(self, data: str, encoding: str | None = None) -> int:
        with self.new_object() as file:
            return file.write(data.encode(encoding or "utf-8"))

    @contextlib.contextmanager
    def new_object(self) -> Iterator[BinaryIO]:
        """A temporary file that is stored under this name when the body ends, unless the body fails.

        It is kept on this machine until then, because a store would keep what a failed writer has written.
        """
        with tempfile.TemporaryFile() as kept:
            yield kept
            kept.seek(0)
            self._write_atomically(lambda place: place._store(kept))

    def _store(self, content: BinaryIO) -> None:
        with self._translate_errors():
            file = file_system(self._url).create(self._url, compression_type=_uncompressed())
            shutil.copyfileobj(content, file, _CHUNK_BYTES)
            file.close()

    def copy_to(self, target: RemotePath) -> None:
        """Copy the file, replacing the target."""

        def copy(place: RemotePath) -> None:
            with self._translate_errors():
                file_system(self._url).copy([self._url], [str(place)])

        target._write_atomically(copy)

    def _write_atomically(self, make: Callable[[RemotePath], None]) -> None:
        """Write a file: directly in a store, which shows complete objects only, else under a temporary name first."""
        if not self._has_folders():
            make(self)
            return
        temporary = self.with_name(f".{self.name}.{uuid.uuid4().hex}.tmp")
        try:
            make(temporary)
            temporary.replace(self)
        finally:
            temporary.unlink(missing_ok=True)

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Create the folder and its parents; no-op in an object store."""
        if self._has_folders() and not (exist_ok and self._exists()):
            with self._translate_errors():
                file_system(self._url).mkdirs(self._url)

    def iterdir(self) -> Iterator[RemotePath]:
        """The entries of a folder; empty if it does not exist."""
        names = {path.removeprefix(f"{self}/").partition("/")[0] for path in self._below()}
        return iter([self / name for name in sorted(names) if name])

    def glob(self, pattern: str) -> Iterator[RemotePath]:
        """The entries of the folder whose names match; not recursive."""
        return iter([path for path in self.iterdir() if fnmatch.fnmatchcase(path.name, pattern)])

    def unlink(self, missing_ok: bool = False) -> None:
        if self._exists():
            with self._translate_errors():
                file_system(self._url).delete([self._url])
        elif not missing_ok:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))

    def remove_tree(self) -> None:
        """Remove everything below this path."""
        if not self._has_folders() and not self.is_dir():
            return
        with self._translate_errors():
            file_system(self._url).delete([self._url if self._has_folders() else f"{self}/"])

    def replace(self, target: RemotePath) -> RemotePath:
        """Rename a file, replacing the target; a store copies and then deletes."""
        if not self._exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))
        if self._has_folders():
            target.unlink(missing_ok=True)  # Hadoop does not replace existing files
        with self._translate_errors():
            file_system(self._url).rename([self._url], [str(target)])
        return target

    def rename(self, target: RemotePath) -> RemotePath:
        """Rename a folder and everything below it; in a store, object by object."""
        if self._has_folders():
            return self.replace(target)
        below = self._below()
        with self._translate_errors():
            file_system(self._url).rename(below, [f"{target}/{path.removeprefix(f'{self}/')}" for path in below])
        return target

    def _below(self, *, limit: int | None = None) -> list[str]:
        """URLs of all objects below a prefix, or of all entries of a folder."""
        if self._has_folders() and not self._exists():
            return []
        with self._translate_errors():
            (found,) = file_system(self._url).match([f"{self._url}/**"], [limit])
        return [one.path for one in found.metadata_list]

    def _exists(self) -> bool:
        with self._translate_errors():
            return bool(file_system(self._url).exists(self._url))

    def _has_folders(self) -> bool:
        with self._translate_errors():
            return bool(file_system(self._url).has_dirs())

    @contextlib.contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Raise OSError with `errno`, `strerror` and `filename` for any error of a store's client or of Beam."""
        try:
            yield
        except Exception as error:
            if isinstance(error, OSError) and error.filename is not None:
                raise
            causes: dict[str, Exception] = getattr(error, "exception_details", None) or {}  # of a BeamIOError, by URL
            cause = next(iter(causes.values()), error)
            number = cause.errno if isinstance(cause, OSError) and cause.errno is not None else errno.EIO
            raise OSError(number, " ".join(str(cause).split()), str(self)) from error


def _uncompressed() -> str:
    from apache_beam.io.filesystem import CompressionTypes

    return CompressionTypes.UNCOMPRESSED
