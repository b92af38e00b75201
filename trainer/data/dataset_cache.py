"""Copies datasets from object stores and web servers to this machine, where training reads them.

    CACHE/myxtts/datasets/<sha256 of _SUCCESS>/    one version of a dataset; its own `_SUCCESS` is written last

CACHE is `XDG_CACHE_HOME`, or `~/.cache`. fsspec opens the addresses: `gs://` with the package gcsfs, `s3://` with s3fs,
`hf://datasets/…`, `https://…`, and others. `_SUCCESS` names every file of a dataset and its sha256. A file
gets its name here when its sha256 is right, so a copy that was interrupted goes on where it ended. A file that another
version has already is linked, so a dataset that grew brings only what is new.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from shared.errors import UserError
from shared.files import CHUNK_BYTES, bytes_sha256, file_sha256, flock_file, link_file, new_file, write_bytes
from shared.layout import Layout, is_dataset_file
from shared.messages import counted
from shared.publication import parse_checksums, read_checksums

if TYPE_CHECKING:
    import fsspec

MAX_SUCCESS_BYTES = 1 << 28  # a million shards
PARALLEL_FILES = 8
SPARE_BYTES = 1 << 30  # stays free on the disk
_NOT_FOR_TRAINING = ("rejected/", "withheld/")

Log = Callable[[str], None]


def local_dataset(data: str, *, log: Log) -> Path:
    """The folder of a dataset on this machine, which is copied to it if `data` is an address.

    Args:
        data: a folder, or an address such as `gs://bucket/corpus`.
        log: takes a line about the copy.

    Raises:
        UserError: the address cannot be read, holds no dataset or another one than it states, or the disk is full.
    """
    if "://" not in data:
        return Path(data)
    with _translated(data):
        remote = RemoteDataset.open(data)
    folder = datasets_folder() / remote.version
    success = Layout(folder).success
    if not success.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with _one_copier(folder, log=log):
            if not success.exists():
                copy_files(remote, to=folder, log=log)
                write_bytes(success, remote.success)
    return folder


def datasets_folder() -> Path:
    """The folder of the copies."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "myxtts" / "datasets"


class RemoteDataset(NamedTuple):
    """A dataset at an address."""

    url: str
    files: fsspec.AbstractFileSystem
    root: str  # in the file system
    success: bytes  # the content of `_SUCCESS`

    @classmethod
    def open(cls, url: str) -> RemoteDataset:
        """Read `_SUCCESS` at an address.

        Raises:
            UserError: there is none.
        """
        from fsspec.core import url_to_fs

        files, root = url_to_fs(url.rstrip("/"))
        try:
            success = files.cat_file(f"{root}/_SUCCESS", start=0, end=MAX_SUCCESS_BYTES)
        except FileNotFoundError as error:
            raise UserError(
                f"{url}: no published dataset: it has no file _SUCCESS; expected the address of one"
            ) from error
        return cls(url, files, root, success)

    @property
    def version(self) -> str:
        """Names the version of the dataset: 32 hexadecimal digits."""
        return bytes_sha256(self.success)[:32]

    @property
    def checksums(self) -> Mapping[str, str]:
        """File name -> sha256, of the files that training reads."""
        return {
            name: sha256
            for name, sha256 in parse_checksums(self.success.decode(errors="replace")).items()
            if is_dataset_file(name) and not name.startswith(_NOT_FOR_TRAINING)
        }

    def size(self, name: str) -> int:
        """The bytes of a file."""
        return int(self.files.size(f"{self.root}/{name}"))

    def chunks(self, name: str) -> Iterator[bytes]:
        """The content of a file, as one stream from a web server: not every one sends parts of files."""
        block_size = 0 if "http" in self.files.protocol else CHUNK_BYTES
        with self.files.open(f"{self.root}/{name}", "rb", block_size=block_size) as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk


def copy_files(remote: RemoteDataset, *, to: Path, log: Log) -> None:
    """Copy the files of a dataset that the folder lacks.

    Raises:
        UserError: see `local_dataset`.
    """
    absent = _absent(remote.checksums, folder=to)
    if not absent:
        return
    stopped = threading.Event()
    with ThreadPoolExecutor(PARALLEL_FILES) as pool, _translated(remote.url):
        sizes = dict(zip(absent, pool.map(remote.size, absent), strict=True))
        _check_space(to, bytes_=sum(sizes.values()), url=remote.url)
        what = f"{counted(len(absent), 'file')}, {sum(sizes.values()) / 1e9:.2f} GB"
        log(f"{remote.url}: copying {what}, to {to}")
        with _progress(sum(sizes.values())) as advance:
            copier = Copier(remote, folder=to, advance=advance, stopped=stopped)
            try:
                for _ in pool.map(copier.copy, absent, absent.values(), sizes.values()):
                    pass
            except BaseException:
                stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise


class Copier(NamedTuple):
    """Copies single files, each from a thread of its own.

    Attributes:
        advance: takes the number of bytes that came.
        stopped: ends all copies.
    """

    remote: RemoteDataset
    folder: Path
    advance: Callable[[int], Any]
    stopped: threading.Event

    def copy(self, name: str, sha256: str, size: int) -> None:
        """Copy a file.

        Raises:
            UserError: its bytes are not those that `_SUCCESS` states.
        """
        path, digest, length = self.folder / name, hashlib.sha256(), 0
        path.parent.mkdir(parents=True, exist_ok=True)
        with new_file(path, durable=False) as file:
            for chunk in self.remote.chunks(name):
                if self.stopped.is_set():
                    raise InterruptedError(errno.EINTR, "another copy failed", name)
                length += len(chunk)
                if length > size:
                    break
                file.write(chunk)
                digest.update(chunk)
                self.advance(len(chunk))
            if digest.hexdigest() != sha256:
                found = f"{self.remote.url}/{name}: not the file that _SUCCESS states: sha256 {digest.hexdigest()}"
                raise UserError(
                    f"{found}, expected {sha256}; was it published anew meanwhile? run again, or validate it"
                )


def _absent(checksums: Mapping[str, str], *, folder: Path) -> dict[str, str]:
    """The files that the folder lacks; those that other versions of a dataset have are linked first."""
    elsewhere = {
        sha256: success.parent / name
        for success in folder.parent.glob("*/_SUCCESS")
        for name, sha256 in read_checksums(success).items()
    }
    absent = {}
    for name, sha256 in checksums.items():
        path = folder / name
        other = elsewhere.get(sha256)
        if not path.exists() and other is not None and other.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            link_file(other, path)
        if not path.exists() or file_sha256(path) != sha256:
            absent[name] = sha256
    return absent


def _check_space(folder: Path, *, bytes_: int, url: str) -> None:
    free = shutil.disk_usage(folder).free
    if bytes_ + SPARE_BYTES > free:
        needed = f"{bytes_ / 1e9:.1f} GB are to be copied, and {folder} has {free / 1e9:.1f} GB free"
        raise UserError(
            f"{url}: {needed}; delete older copies in {folder.parent}, or set XDG_CACHE_HOME to another disk"
        )


@contextlib.contextmanager
def _one_copier(folder: Path, *, log: Log) -> Iterator[None]:
    """Wait while another process copies this version."""
    with folder.with_suffix(".lock").open("w") as file:
        try:
            flock_file(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log(f"{folder}: another process copies this dataset; waiting for it")
            flock_file(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[int], Any]]:
    """A bar on stderr; gives the function that takes the number of bytes that came."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), "left", TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=total)
        yield lambda length: progress.advance(task, length)


@contextlib.contextmanager
def _translated(url: str) -> Iterator[None]:
    """Raise what fsspec and the libraries of stores raise as a UserError; each has exceptions of its own."""
    try:
        yield
    except UserError:
        raise
    except ImportError as error:
        raise UserError(f"{url}: {error}; install that package into this environment") from error
    except Exception as error:
        message = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"{url}: {message}; what was copied is kept, run again") from error
