"""Recordings that are cut off: files with fewer bytes of samples than their header states.

libsndfile reads such a file as a shorter recording. Headers: AIFF-C (Apple, 1991), Sun's .snd, RF64 (EBU Tech 3306),
Sony's Wave64, Apple's Core Audio Format, and NIST's SPHERE. `wav` has those of RIFF WAVE.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import NamedTuple

from preprocess.utterance import Reason, Rejected

# libsndfile reads more formats, whose files do not state how long they are, or not where it says so.
CHECKED_FORMATS = ("WAV", "WAVEX", "RF64", "W64", "AIFF", "AU", "NIST", "CAF", "FLAC", "OGG", "MP3", "MPEG")
UNSTATED = 0xFFFF_FFFF  # the size in a .snd or RF64 that states none
UNSTATED_AIFF_FROM = 0x7F00_0000  # SoX writes such a size into an AIFF that goes into a pipe
_W64_RIFF, _W64_DATA = b"riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\x00\x00", b"data\xf3\xac\xd3\x11"
_W64_HEAD_BYTES = 40
_NIST_FIELD = re.compile(rb"(sample_count|channel_count|sample_n_bytes)\s+-i\s+(\d{1,12})")


class SampleData(NamedTuple):
    """Where the samples of a file lie, as its header states."""

    start: int
    size: int
    of: str = "of samples"


def check_stated_length(data: bytes) -> None:
    """Raise Rejected for a file that ends before its samples do; files of formats other than these pass."""
    found = next((_read(data, place) for begins, place in _PLACES if data.startswith(begins)), None)
    if found is not None and found.start + found.size > len(data):
        held = max(len(data) - found.start, 0)
        raise Rejected(Reason.TRUNCATED_AUDIO, f"{held} bytes {found.of}, its header says {found.size}")


def _read(data: bytes, place: Callable[[bytes], SampleData | None]) -> SampleData | None:
    try:
        return place(data)
    except (struct.error, KeyError):  # a header that is cut off or damaged: libsndfile says what is wrong
        return None


def _aiff(data: bytes) -> SampleData | None:
    position = 12
    while position + 8 <= len(data):
        name, size = struct.unpack_from(">4sI", data, position)
        if name == b"SSND":
            return None if size >= UNSTATED_AIFF_FROM else SampleData(position + 8, size)
        position += 8 + size + size % 2
    (size,) = struct.unpack_from(">I", data, 4)  # no samples yet: what the whole file states
    return None if size >= UNSTATED_AIFF_FROM else SampleData(8, size, "after its size")


def _snd(data: bytes) -> SampleData | None:
    start, size = struct.unpack_from(">II", data, 4)
    return None if size == UNSTATED else SampleData(start, size)


def _rf64(data: bytes) -> SampleData | None:
    position, stated = 12, None
    while position + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, position)
        if name == b"ds64":
            (stated,) = struct.unpack_from("<Q", data, position + 16)
        if name == b"data":
            return SampleData(position + 8, stated if size == UNSTATED and stated is not None else size)
        position += 8 + size + size % 2
    return None


def _wave64(data: bytes) -> SampleData | None:
    position = _W64_HEAD_BYTES
    while position + 24 <= len(data):
        (size,) = struct.unpack_from("<Q", data, position + 16)  # with the name and itself
        if data.startswith(_W64_DATA, position):
            return SampleData(position + 24, max(size, 24) - 24)
        position += max(size + -size % 8, 24)
    return None


def _caf(data: bytes) -> SampleData | None:
    position = 8
    while position + 12 <= len(data):
        name, size = struct.unpack_from(">4sq", data, position)
        if name == b"data":
            return None if size < 0 else SampleData(position + 12, size)  # -1: not known when it was written
        position += 12 + max(size, 0)
    return None


def _sphere(data: bytes) -> SampleData | None:
    (start,) = struct.unpack_from(">8s", data, 8)
    if b"shorten" in data[:1024] or not start.strip().isdigit():
        return None
    fields = {name: int(value) for name, value in _NIST_FIELD.findall(data[:4096])}
    frame_bytes = fields.get(b"channel_count", 1) * fields.get(b"sample_n_bytes", 1)  # µ-law states no bytes
    return SampleData(int(start), fields[b"sample_count"] * frame_bytes)


_PLACES: tuple[tuple[bytes, Callable[[bytes], SampleData | None]], ...] = (
    (b"FORM", _aiff),
    (b".snd", _snd),
    (b"RF64", _rf64),
    (b"BW64", _rf64),
    (_W64_RIFF, _wave64),
    (b"caff", _caf),
    (b"NIST_1A", _sphere),
)
