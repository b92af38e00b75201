"""A file or folder in an object store or on HDFS, through Beam's file systems."""

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
_PIECE_BYTES = 1 << 22


def file_system(url: str) -> FileSystem:
    """Beam's file system for a URL."""
    from apache_beam.io.filesystems import FileSystems

    parts = urllib.parse.urlsplit(url)
    if parts.scheme != "hdfs":
        return FileSystems.get_filesystem(url)
    from apache_beam.io.hadoopfilesystem import HadoopFileSystem

    # Beam wants these as options, but the URL says them already, also to a worker
    port = parts.port or WEBHDFS_PORT
    server = {"hdfs_host": parts.hostname, "hdfs_port": port, "hdfs_user": user_name(), "hdfs_full_urls": True}
    return HadoopFileSystem(server)


class RemoteState(NamedTuple):
    """What a store says of an object."""

    st_size: int
    st_mtime: float


@functools.total_ordering
class RemotePath(RemoteStoragePath):
    """A file or folder elsewhere, with pathlib's names for what datasets need.

    It is no `os.PathLike`: what needs a disk refuses it. A folder of an object store is a prefix: it exists while
    something lies below it, and is never made. Whatever a file system raises comes as an OSError with `errno`,
    `strerror` and `filename`, as a disk's errors do.
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
        """Raises ValueError where it does not lie below the other."""
        if self != other and not self._url.startswith(f"{other}/"):
            raise ValueError(f"{self} is not below {other}")
        return PurePosixPath(self._url.removeprefix(str(other)).lstrip("/"))

    def absolute(self) -> RemotePath:
        return self

    def exists(self) -> bool:
        return self._is_there() or self.is_dir()

    def is_file(self) -> bool:
        return self._is_there() and not (self._has_folders() and self.is_dir())

    def is_dir(self) -> bool:
        """Whether something lies below it; of a file system with folders, whether it can be listed."""
        if not self._has_folders():
            return bool(self._below(limit=1))
        try:
            self._below(limit=1)
        except OSError:  # Hadoop's way to say that it is a file, or not there
            return False
        return self._is_there()

    def stat(self) -> RemoteState:
        """Size and time of an object."""
        if not self._is_there():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))
        with self._told():
            found = file_system(self._url).metadata(self._url)
        return RemoteState(found.size_in_bytes, found.last_updated_in_seconds)

    def open(self, mode: Literal["rb"]) -> BinaryIO:
        """The object to read from, seekable; `new_object` writes."""
        if not self._is_there():  # some would tell at the first read only, and each in its own way
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))
        with self._told():
            return file_system(self._url).open(self._url, compression_type=_as_it_is())

    def read_bytes(self) -> bytes:
        with self.open("rb") as file, self._told():
            return file.read()

    def read_text(self, encoding: str | None = None, errors: str | None = None) -> str:
        return self.read_bytes().decode(encoding or "utf-8", errors or "strict")

    def write_text(self, data: str, encoding: str | None = None) -> int:
        with self.new_object() as file:
            return file.write(data.encode(encoding or "utf-8"))

    @contextlib.contextmanager
    def new_object(self) -> Iterator[BinaryIO]:
        """A file that is stored under this name at the end, whole, or not at all where the body fails.

        It is kept on this machine until then: a store takes for the whole what a writer that failed had written.
        """
        with tempfile.TemporaryFile() as kept:
            yield kept
            kept.seek(0)
            self._in_place(lambda place: place._store(kept))

    def _store(self, content: BinaryIO) -> None:
        with self._told():
            file = file_system(self._url).create(self._url, compression_type=_as_it_is())
            shutil.copyfileobj(content, file, _PIECE_BYTES)
            file.close()

    def copy_to(self, target: RemotePath) -> None:
        """A second object with the same content, in place of what had that name."""

        def copy(place: RemotePath) -> None:
            with self._told():
                file_system(self._url).copy([self._url], [str(place)])

        target._in_place(copy)

    def _in_place(self, make: Callable[[RemotePath], None]) -> None:
        """Make a file under its own name where a store shows it once it is whole, else under another at first."""
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
        """Nothing, where there are no folders; else with all above it."""
        if self._has_folders() and not (exist_ok and self._is_there()):
            with self._told():
                file_system(self._url).mkdirs(self._url)

    def iterdir(self) -> Iterator[RemotePath]:
        """What lies in a folder; nothing where there is no such folder."""
        names = {path.removeprefix(f"{self}/").partition("/")[0] for path in self._below()}
        return iter([self / name for name in sorted(names) if name])

    def glob(self, pattern: str) -> Iterator[RemotePath]:
        """What lies in the folder itself, by its name."""
        return iter([path for path in self.iterdir() if fnmatch.fnmatchcase(path.name, pattern)])

    def unlink(self, missing_ok: bool = False) -> None:
        if self._is_there():
            with self._told():
                file_system(self._url).delete([self._url])
        elif not missing_ok:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))

    def remove_tree(self) -> None:
        """Everything below this name."""
        if not self._has_folders() and not self.is_dir():
            return
        with self._told():
            file_system(self._url).delete([self._url if self._has_folders() else f"{self}/"])

    def replace(self, target: RemotePath) -> RemotePath:
        """Another name for a file, in place of what had that one; a store copies, then removes."""
        if not self._is_there():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))
        if self._has_folders():
            target.unlink(missing_ok=True)  # Hadoop renames to a name that is free only
        with self._told():
            file_system(self._url).rename([self._url], [str(target)])
        return target

    def rename(self, target: RemotePath) -> RemotePath:
        """Another name for a folder and all below it, one object after another."""
        if self._has_folders():
            return self.replace(target)
        below = self._below()
        with self._told():
            file_system(self._url).rename(below, [f"{target}/{path.removeprefix(f'{self}/')}" for path in below])
        return target

    def _below(self, *, limit: int | None = None) -> list[str]:
        """The URLs of all objects below a prefix; of a file system with folders, of all that lies in the folder."""
        if self._has_folders() and not self._is_there():
            return []
        with self._told():
            (found,) = file_system(self._url).match([f"{self._url}/**"], [limit])
        return [one.path for one in found.metadata_list]

    def _is_there(self) -> bool:
        with self._told():
            return bool(file_system(self._url).exists(self._url))

    def _has_folders(self) -> bool:
        with self._told():
            return bool(file_system(self._url).has_dirs())

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Each store's client has errors of its own, Beam's lack `errno` and `strerror`, a socket's a `filename`."""
        try:
            yield
        except Exception as error:
            if isinstance(error, OSError) and error.filename is not None:
                raise
            causes: dict[str, Exception] = getattr(error, "exception_details", None) or {}  # Beam's, by URL
            cause = next(iter(causes.values()), error)
            number = cause.errno if isinstance(cause, OSError) and cause.errno is not None else errno.EIO
            raise OSError(number, " ".join(str(cause).split()), str(self)) from error


def _as_it_is() -> str:
    from apache_beam.io.filesystem import CompressionTypes

    return CompressionTypes.UNCOMPRESSED
