"""Fetches one file over HTTP: resumed where it stopped, tried again after faults, checked by size and sha256."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import requests

from pipelines.download.archives import Archive
from shared.errors import UserError
from shared.files import file_sha256

PARTIAL = ".part"  # suffix of an unfinished file
PAUSES_S = (1.0, 4.0, 15.0, 60.0)  # between attempts that brought nothing; after the last one the download ends
TIMEOUT_S = 30.0  # without a byte
CHUNK_BYTES = 1 << 16  # a connection that ends loses less than that

Report = Callable[[int], object]


class _ServerError(Exception):
    """A fault of the server or the connection that may pass."""


def fetch(archive: Archive, *, to: Path, report: Report = lambda size_bytes: None) -> Path:
    """Download an archive into a folder, unless it is there.

    Args:
        report: is called with the number of bytes that are there.

    Raises:
        UserError: the server has no such file, or another one, or does not answer again and again.
        OSError: the disk is full, or the folder cannot be written.
    """
    path = to / archive.name
    if path.exists():
        return path
    partial = path.with_name(path.name + PARTIAL)
    with partial.open("ab") as file:
        _fetch_rest(archive, file=file, report=report)
    _check(archive, path=partial)
    partial.rename(path)
    return path


def _fetch_rest(archive: Archive, *, file: IO[bytes], report: Report) -> None:
    """Append what is missing, in as many requests as it takes."""
    fruitless = 0
    while file.tell() < archive.size_bytes:
        before = file.tell()
        try:
            _request_rest(archive, file=file, report=report)
        except (_ServerError, requests.RequestException) as error:
            fruitless = 0 if file.tell() > before else fruitless + 1
            if fruitless > len(PAUSES_S):
                raise UserError(
                    f"{archive.url}: {error}; {file.tell():,} of {archive.size_bytes:,} bytes are kept, "
                    "and the same command continues"
                ) from error
            time.sleep(PAUSES_S[max(fruitless - 1, 0)])


def _request_rest(archive: Archive, *, file: IO[bytes], report: Report) -> None:
    """Request the bytes that the file lacks; a server that knows no ranges sends the whole file, which replaces it."""
    first = file.tell()
    headers = {"Range": f"bytes={first}-", "Accept-Encoding": "identity"}
    with requests.get(archive.url, headers=headers, stream=True, timeout=TIMEOUT_S) as response:
        if response.status_code >= 500 or response.status_code == 429:
            raise _ServerError(f"HTTP {response.status_code}")
        if response.status_code not in (200, 206):
            raise UserError(f"{archive.url}: HTTP {response.status_code}; expected the archive of the corpus")
        if response.status_code == 200 and first:
            file.seek(0)
            file.truncate()
            first = 0
        _check_length(archive, response=response, first=first)
        for chunk in response.iter_content(CHUNK_BYTES):
            _append(chunk, file=file, archive=archive)
            report(file.tell())
    file.flush()
    if file.tell() == first:
        raise _ServerError("the server sends nothing")


def _check_length(archive: Archive, *, response: requests.Response, first: int) -> None:
    """Refuse a file of another size before it is downloaded."""
    length = response.headers.get("Content-Length")
    if length is not None and length.isdecimal() and first + int(length) != archive.size_bytes:
        raise UserError(
            f"{archive.url}: has {first + int(length):,} bytes; expected {archive.size_bytes:,}; "
            "it is another file than the one whose sha256 is known"
        )
    begin = response.headers.get("Content-Range", "").removeprefix("bytes ").partition("-")[0]
    if response.status_code == 206 and begin != str(first):
        raise _ServerError(f"the server sends bytes from {begin or 'nowhere'} on, and was asked for those from {first}")


def _append(chunk: bytes, *, file: IO[bytes], archive: Archive) -> None:
    if file.tell() + len(chunk) > archive.size_bytes:
        raise UserError(f"{archive.url}: sends more than the expected {archive.size_bytes:,} bytes")
    file.write(chunk)


def _check(archive: Archive, *, path: Path) -> None:
    """Delete a file with another sha256: no more bytes would make it right."""
    found = file_sha256(path)
    if found != archive.sha256:
        path.unlink()
        raise UserError(
            f"{archive.url}: has sha256 {found}; expected {archive.sha256}; the download was deleted, try again"
        )
