"""Parts of recordings: a path with the seconds of a part, as in `talk.flac#t=12.5,17.25`.

The form is that of W3C Media Fragments URI 1.0 (section 4.2.1, "Normal Play Time"). Without an end, as in
`talk.flac#t=12.5`, the part reaches to the end of the recording.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from preprocess.utterance import Reason, Rejected

MAX_RECORDING_S = 1e6  # eleven days
_MARK = "#t="
_DECIMALS = 9  # a nanosecond: a sample of 384 kHz takes 2,600
_PART = re.compile(r"(?P<path>.+)#t=(?P<start>\d+(\.\d+)?)(,(?P<end>\d+(\.\d+)?))?", re.ASCII | re.DOTALL)


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
    start, end = (f"{value:.{_DECIMALS}f}".rstrip("0").rstrip(".") for value in (start_s, last_s))
    if end_s is not None and start == end:
        raise Rejected(Reason.BAD_METADATA_ROW, f"begins and ends at {start} s: no part of a recording")
    return f"{path}{_MARK}{start}" + ("" if end_s is None else f",{end}")


def split_part(path: str) -> Part | None:
    """The part that a path names; None if it names a whole recording."""
    if _MARK not in path or (match := _PART.fullmatch(path)) is None:
        return None
    end = match["end"]
    return Part(match["path"], float(match["start"]), None if end is None else float(end))


def recording_of(path: str) -> str:
    """The path of the file that holds a recording or a part of it."""
    part = split_part(path)
    return path if part is None else part.path


def part_id(recording_id: str, *, start_s: float, end_s: float | None) -> str:
    """The id of a part that has no id: that of its recording, and the milliseconds where it begins and ends."""
    end = "end" if end_s is None else f"{round(end_s * 1000):07d}"
    return f"{recording_id}-{round(start_s * 1000):07d}-{end}"
