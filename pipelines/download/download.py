"""Downloads and unpacks a corpus: `myxtts-data download`."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from pipelines.download.archives import Archive
from pipelines.download.fetch import PARTIAL, fetch
from pipelines.download.unpack import unpack
from shared.errors import UserError


def download(archive: Archive, *, to: Path, keep_archive: bool = False) -> Path:
    """Download and unpack a corpus below a folder, unless it is there; return the corpus' folder.

    What was downloaded before is kept: after an interruption the same call continues.

    Raises:
        UserError: the disk has too little room or fails, another process downloads into the folder, or as for `fetch`
            and `unpack`.
    """
    target = to / archive.folder
    try:
        to.mkdir(parents=True, exist_ok=True)
        with _exclusive(to):
            if not target.exists():
                _download(archive, to=to, keep_archive=keep_archive)
    except OSError as error:
        raise UserError(f"{error.filename or to}: {error.strerror or error}; what was downloaded is kept") from error
    return target


def _download(archive: Archive, *, to: Path, keep_archive: bool) -> None:
    _check_room(archive, to=to)
    with _bar(f"downloading {archive.name}", total=archive.size_bytes) as report:
        path = fetch(archive, to=to, report=report)
    with _bar(f"unpacking {archive.name}", total=None) as report:
        unpack(path, archive=archive, to=to, report=report)
    if not keep_archive:
        path.unlink()


@contextlib.contextmanager
def _exclusive(folder: Path) -> Iterator[None]:
    """Refuse a second download into the folder at the same time."""
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise UserError(f"{folder}: another process downloads into it; wait for its end") from error
    finally:
        os.close(held)


def _check_room(archive: Archive, *, to: Path) -> None:
    """Refuse a download that the disk cannot hold, with what is unpacked from it."""
    there = sum(path.stat().st_size for path in (to / archive.name, to / f"{archive.name}{PARTIAL}") if path.is_file())
    needed, free = archive.size_bytes - there + archive.max_unpacked_bytes, shutil.disk_usage(to).free
    if needed > free:
        raise UserError(
            f"{to}: {free / 1e9:.1f} GB are free; {needed / 1e9:.1f} GB are needed for archive and corpus; "
            "free some, or choose another folder with --to"
        )


@contextlib.contextmanager
def _bar(label: str, *, total: int | None) -> Iterator[Callable[[int], object]]:
    """A bar on stderr; call what is yielded with the number of bytes so far."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TextColumn("left"), TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=total)
        yield lambda size_bytes: bar.update(task, completed=size_bytes)
