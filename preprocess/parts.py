"""Paths of recordings that are not files of their own: parts of recordings, members of archives, cells of tables.

`talk.flac#t=12.5,17.25` is the part between two times, in seconds: the form is that of W3C Media Fragments URI 1.0
(section 4.2.1, "Normal Play Time"). Without an end, as in `talk.flac#t=12.5`, it reaches to the end of the recording.
`shard-0001.tar#bytes=1536-206335` are the bytes of a file between two places, both included, as in a header `Range` of
HTTP (RFC 9110, section 14.1.2): those of a member of an archive that is not compressed.
`train-0001.parquet#cell=17,2` is what a table holds in its 17th row and second column, as in RFC 7111 (section 2.3).
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from preprocess.utterance import Reason, Rejected

MAX_RECORDING_S = 1e6  # eleven days
_MARK = "#t="
_DECIMALS = 9  # a nanosecond: a sample of 384 kHz takes 2,600
_PART = re.compile(
    r"(?P<path>.+)#t=(?P<start>\d{1,7}(\.\d{1,9})?)(,(?P<end>\d{1,7}(\.\d{1,9})?))?", re.ASCII | re.DOTALL
)
_BYTES_MARK = "#bytes="
_MEMBER = re.compile(r"(?P<path>.+)#bytes=(?P<first>\d{1,18})-(?P<last>\d{1,18})", re.ASCII | re.DOTALL)
_CELL_MARK = "#cell="
_CELL = re.compile(r"(?P<path>.+)#cell=(?P<row>[1-9]\d{0,17}),(?P<column>[1-9]\d{0,5})", re.ASCII | re.DOTALL)


class Part(NamedTuple):
    """A part of a recording."""

    path: str  # of the whole recording
    start_s: float
    end_s: float | None  # None: the end of the recording


def part_path(path: str, *, start_s: float, end_s: float | None) -> str:
    """The path of a part of a recording.

    Raises:
        Rejected: the times are not those of a part.
    """
    last_s = start_s if end_s is None else end_s
    if not (math.isfinite(start_s) and math.isfinite(last_s) and 0 <= start_s <= last_s <= MAX_RECORDING_S):
        raise Rejected(Reason.BAD_METADATA_ROW, f"from {start_s:g} s to {last_s:g} s: no part of a recording")
    start, end = (f"{value + 0.0:.{_DECIMALS}f}".rstrip("0").rstrip(".") for value in (start_s, last_s))  # no -0
    if end_s is not None and start == end:
        raise Rejected(Reason.BAD_METADATA_ROW, f"begins and ends at {start} s: no part of a recording")
    return f"{path}{_MARK}{start}" + ("" if end_s is None else f",{end}")


def split_part(path: str) -> Part | None:
    """The part that a path names; None if it names a whole recording."""
    if _MARK not in path or (match := _PART.fullmatch(path)) is None:
        return None
    end = match["end"]
    return Part(match["path"], float(match["start"]), None if end is None else float(end))


class Member(NamedTuple):
    """A member of an archive."""

    path: str  # of the archive
    start: int  # its first byte
    size_bytes: int


def member_path(path: str, *, start: int, size_bytes: int) -> str:
    """The path of a member of an archive."""
    return f"{path}{_BYTES_MARK}{start}-{start + size_bytes - 1}"


def split_member(path: str) -> Member | None:
    """The member that a path names; None if it names none."""
    if _BYTES_MARK not in path or (match := _MEMBER.fullmatch(path)) is None:
        return None
    first, last = int(match["first"]), int(match["last"])
    return Member(match["path"], first, last - first + 1) if first <= last else None


class Cell(NamedTuple):
    """A cell of a table."""

    path: str  # of the table
    row: int  # from 1
    column: int  # from 1


def cell_path(path: str, *, row: int, column: int) -> str:
    """The path of a cell of a table; rows and columns are counted from 1."""
    return f"{path}{_CELL_MARK}{row},{column}"


def split_cell(path: str) -> Cell | None:
    """The cell that a path names; None if it names none."""
    if _CELL_MARK not in path or (match := _CELL.fullmatch(path)) is None:
        return None
    return Cell(match["path"], int(match["row"]), int(match["column"]))


def names_a_file(path: str) -> bool:
    """Whether a path names a whole file, and nothing inside one."""
    return containing_file(path) == path


def containing_file(path: str) -> str:
    """The path of the file that holds what a path names: a recording, or the archive or the table with one inside."""
    inside = split_part(path) or split_member(path) or split_cell(path)
    return path if inside is None else inside.path


def part_id(recording_id: str, *, start_s: float, end_s: float | None) -> str:
    """The id of a part that has no id: that of its recording, and the milliseconds where it begins and ends."""
    end = "end" if end_s is None else f"{round(end_s * 1000):07d}"
    return f"{recording_id}-{round(start_s * 1000):07d}-{end}"
