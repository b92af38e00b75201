"""Unpacks a corpus: under a temporary name first, within a bound, and nothing outside of its folder."""

from __future__ import annotations

import shutil
import tarfile
import uuid
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from pipelines.download.archives import Archive
from shared.errors import UserError

TEMPORARY = ".unpacking-"

Report = Callable[[int], object]


def unpack(path: Path, *, archive: Archive, to: Path, report: Report = lambda size_bytes: None) -> Path:
    """Unpack an archive below a folder, and return the corpus' folder.

    The corpus' folder gets its name last. Files beside it in the archive, such as lists of speakers, are added where
    there are none.

    Raises:
        UserError: the archive cannot be read, has more than its bound of bytes, or not the expected folder.
        OSError: the disk is full, or the folder cannot be written.
    """
    for left in to.glob(f"{TEMPORARY}*"):
        shutil.rmtree(left, ignore_errors=True)
    work = to / f"{TEMPORARY}{uuid.uuid4().hex}"
    inside = work if archive.has_folder else work / archive.folder
    inside.mkdir(parents=True)
    try:
        try:
            _extract(path, into=inside, archive=archive, report=report)
        except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            raise UserError(f"{path}: cannot be unpacked: {error}") from error
        return _publish(work, archive=archive, to=to)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _extract(path: Path, *, into: Path, archive: Archive, report: Report) -> None:
    size_bytes = 0
    extract = _extract_zip if path.suffix == ".zip" else _extract_tar
    for member_bytes in extract(path, into=into, limit_bytes=archive.max_unpacked_bytes):
        size_bytes += member_bytes
        report(size_bytes)


def _extract_tar(path: Path, *, into: Path, limit_bytes: int) -> Iterator[int]:
    """Extract member by member; the filter refuses members that would lie outside, and special files."""
    left_bytes = limit_bytes
    with tarfile.open(path) as members:
        for member in members:
            left_bytes = _take(member.size, left_bytes=left_bytes, path=path)
            members.extract(member, into, filter="data")
            yield member.size


def _extract_zip(path: Path, *, into: Path, limit_bytes: int) -> Iterator[int]:
    """Extract member by member; zipfile unpacks no more than the stated size of a member."""
    left_bytes = limit_bytes
    with zipfile.ZipFile(path) as members:
        for member in members.infolist():
            parts = PurePosixPath(member.filename.replace("\\", "/"))
            if parts.is_absolute() or ".." in parts.parts:
                raise UserError(f"{path}: the member {member.filename!r} lies outside of the corpus' folder")
            left_bytes = _take(member.file_size, left_bytes=left_bytes, path=path)
            members.extract(member, into)
            yield member.file_size


def _take(size_bytes: int, *, left_bytes: int, path: Path) -> int:
    if size_bytes > left_bytes:
        raise UserError(f"{path}: unpacks to more bytes than a corpus of its size has; nothing was kept")
    return left_bytes - size_bytes


def _publish(work: Path, *, archive: Archive, to: Path) -> Path:
    """Move the corpus to its place, after the files beside it."""
    found, target = work / archive.folder, to / archive.folder
    if not found.is_dir():
        raise UserError(f"{archive.url}: has no folder {archive.folder}")
    target.parent.mkdir(parents=True, exist_ok=True)
    for beside in sorted(found.parent.iterdir()) if found.parent != work else ():
        if beside != found and not (target.parent / beside.name).exists():
            beside.rename(target.parent / beside.name)
    found.rename(target)
    return target
