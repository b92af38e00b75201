"""Copies datasets from addresses to this machine, where training reads them.

    CACHE/myxtts/datasets/<sha256 of _SUCCESS>/    one version of a dataset
        _EXPECTED                                  its `_SUCCESS`, which gets that name when all files are here

CACHE is `XDG_CACHE_HOME`, or `~/.cache`. `_SUCCESS` names every file of a dataset and its sha256. A file gets its name
here when its sha256 is right, so a copy that was interrupted goes on where it ended. A file that another version has
already is linked, so a dataset that grew brings only what is new.
"""

from __future__ import annotations

import collections
import contextlib
import errno
import fcntl
import hashlib
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from shared.errors import UserError
from shared.files import (
    file_sha256,
    flock_file,
    fsync_path,
    link_file,
    new_file,
    remove_temporary_files,
    write_bytes,
)
from shared.messages import counted
from shared.publication import read_checksums
from trainer.data.remote_dataset import SUCCESS, RemoteDataset, translate_store_errors
from trainer.platform.user_cache import user_cache_folder

EXPECTED = "_EXPECTED"
PARALLEL_FILES = 8
SPARE_BYTES = 1 << 30  # stays free on the disk
LINE_EVERY_S = 30.0  # where stderr is no terminal

Log = Callable[[str], None]


def local_dataset(data: str, *, log: Log) -> Path:
    """The folder of a dataset on this machine, which is copied to it if `data` is an address.

    Args:
        data: a folder, or an address such as `gs://bucket/corpus`.
        log: takes lines about the copy.

    Raises:
        UserError: the address cannot be read, holds no dataset or another one than it states, or the disk is full.
    """
    if "://" not in data:
        return Path(data)
    remote = RemoteDataset.open(data)
    folder = datasets_folder() / remote.version
    if not (folder / SUCCESS).exists():
        folder.mkdir(parents=True, exist_ok=True)
        with _one_copier(folder, log=log):
            if not (folder / SUCCESS).exists():
                DatasetCopier(remote, folder=folder, log=log).copy()
    return folder


def datasets_folder() -> Path:
    """The folder of the copies."""
    return user_cache_folder() / "datasets"


class DatasetCopier:
    """Copies the files of a dataset that a folder lacks, several at a time."""

    def __init__(self, remote: RemoteDataset, *, folder: Path, log: Log):
        self._remote, self._folder, self._log = remote, folder, log
        self._checksums = remote.checksums
        self._elsewhere = _files_of_other_versions(folder)
        self._stopped = threading.Event()

    def copy(self) -> None:
        """Copy or link all files, then publish the folder.

        Raises:
            UserError: see `local_dataset`.
        """
        write_bytes(self._folder / EXPECTED, self._remote.success)
        folders = {(self._folder / name).parent for name in self._checksums} | {self._folder}
        for folder in folders:
            folder.mkdir(exist_ok=True)
        with ThreadPoolExecutor(PARALLEL_FILES) as pool:
            try:
                self._copy_absent(pool)
            except BaseException:
                self._stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        for folder in folders:
            fsync_path(folder)
        (self._folder / EXPECTED).replace(self._folder / SUCCESS)
        fsync_path(self._folder)

    def _copy_absent(self, pool: ThreadPoolExecutor) -> None:
        url, checksums = self._remote.url, self._checksums
        self._log(f"{url}: {counted(len(checksums), 'file')}, looking for them in {self._folder.parent}")
        found = pool.map(self._is_here, checksums, checksums.values())
        absent = [name for name, here in zip(checksums, found, strict=True) if not here]
        if not absent:
            return
        with translate_store_errors(url):
            sizes_bytes = list(pool.map(self._remote.size, absent))
            total_bytes = sum(sizes_bytes)
            self._check_space(total_bytes)
            self._log(f"{url}: copying {counted(len(absent), 'file')}, {total_bytes / 1e9:.2f} GB, to {self._folder}")
            with _progress(total_bytes, log=self._log) as advance:
                copies = [
                    pool.submit(self.copy_file, name, size_bytes=size_bytes, advance=advance)
                    for name, size_bytes in zip(absent, sizes_bytes, strict=True)
                ]
                for one in as_completed(copies):
                    one.result()

    def _is_here(self, name: str, sha256: str) -> bool:
        """Whether the folder has a file, perhaps as a link to that of another version."""
        path = self._folder / name
        if path.exists() and file_sha256(path) == sha256:
            return True
        for other in self._elsewhere[sha256]:
            with contextlib.suppress(FileNotFoundError):  # somebody deletes that version
                link_file(other, path)
                if file_sha256(path) == sha256:
                    return True
        return False

    def copy_file(self, name: str, *, size_bytes: int, advance: Callable[[int], Any]) -> None:
        """Copy a file.

        Args:
            size_bytes: as the store states it; no more is copied.
            advance: takes the number of bytes that came.

        Raises:
            UserError: its bytes are not those that `_SUCCESS` states.
            InterruptedError: another copy failed.
        """
        digest, length = hashlib.sha256(), 0
        with new_file(self._folder / name) as file:
            for chunk in self._remote.chunks(name):
                if self._stopped.is_set():
                    raise InterruptedError(errno.EINTR, "another copy failed", name)
                length += len(chunk)
                if length > size_bytes:
                    break
                file.write(chunk)
                digest.update(chunk)
                advance(len(chunk))
            if digest.hexdigest() != (expected := self._checksums[name]):
                found = f"{self._remote.url}/{name}: not the file that {SUCCESS} states: sha256 {digest.hexdigest()}"
                raise UserError(f"{found}, expected {expected}; run again: a build may have published another version")

    def _check_space(self, size_bytes: int) -> None:
        free_bytes = shutil.disk_usage(self._folder).free
        if size_bytes + SPARE_BYTES > free_bytes:
            needed = (
                f"{size_bytes / 1e9:.1f} GB are to be copied, and {self._folder} has {free_bytes / 1e9:.1f} GB free"
            )
            remedy = f"delete older copies in {self._folder.parent}, or set XDG_CACHE_HOME to another disk"
            raise UserError(f"{self._remote.url}: {needed}; {remedy}")


def _files_of_other_versions(folder: Path) -> dict[str, list[Path]]:
    """sha256 -> files; those of copies that were not finished, too."""
    found: dict[str, list[Path]] = collections.defaultdict(list)
    for listed in sorted(folder.parent.glob(f"*/{SUCCESS}")) + sorted(folder.parent.glob(f"*/{EXPECTED}")):
        for name, sha256 in read_checksums(listed).items() if listed.parent != folder else ():
            found[sha256].append(listed.parent / name)
    return found


@contextlib.contextmanager
def _one_copier(folder: Path, *, log: Log) -> Iterator[None]:
    """Wait while another process copies this version; then remove what a copy that was killed left half written."""
    with folder.with_suffix(".lock").open("w") as file:
        try:
            is_alone = flock_file(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log(f"{folder}: another process copies this dataset; waiting for it")
            is_alone = flock_file(file, fcntl.LOCK_EX)
        for part in (folder, *(one for one in folder.iterdir() if one.is_dir())) if is_alone else ():
            remove_temporary_files(part)
        yield


@contextlib.contextmanager
def _progress(total_bytes: int, *, log: Log) -> Iterator[Callable[[int], Any]]:
    """A bar on a terminal, else a line now and then; gives the function that takes the number of bytes that came."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(total_bytes, log=log).advance
        return
    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), "left", TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=total_bytes)
        yield lambda length: progress.advance(task, length)


class _Lines:
    """Logs how much has come, every `LINE_EVERY_S`."""

    def __init__(self, total_bytes: int, *, log: Log):
        self._total_bytes, self._log = total_bytes, log
        self._come_bytes, self._next_s = 0, time.monotonic() + LINE_EVERY_S
        self._lock = threading.Lock()

    def advance(self, length: int) -> None:
        with self._lock:
            self._come_bytes += length
            if time.monotonic() >= self._next_s:
                self._next_s = time.monotonic() + LINE_EVERY_S
                self._log(f"copied {self._come_bytes / 1e9:.2f} of {self._total_bytes / 1e9:.2f} GB")
