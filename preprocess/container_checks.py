"""The parts of m4a, webm, wma, aac and amr files: whether the last one is whole, and what they make a decoder allocate.

FFmpeg decodes what there is of a file that is cut off, and builds an index of as many samples as the headers state.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Protocol

from preprocess.utterance import Reason, Rejected

MAX_PARTS = 100_000  # in a file: 20 minutes of frames of 20 ms are 60,000 parts
MAX_INDEXED = 1 << 22  # samples in the index of an mp4: 20 s at 192 kHz are 3.8 million, of 36 bytes each

# RFC 4867: bytes of a frame after its first one, by its type
_AMR_BYTES = {
    b"#!AMR\n": (12, 13, 15, 17, 19, 20, 26, 31, 5, 0, 0, 0, 0, 0, 0, 0),
    b"#!AMR-WB\n": (17, 23, 32, 36, 40, 46, 50, 58, 60, 5, 0, 0, 0, 0, 0, 0),
}
_ADTS_BYTES = 7  # ISO/IEC 14496-3: the header of a frame, without a checksum
_SEGMENT, _CLUSTER = b"\x18\x53\x80\x67", b"\x1f\x43\xb6\x75"  # RFC 8794, RFC 9559
_COUNTED = re.compile(rb"stsz|stz2|trun")  # boxes with a count: behind flags, and in stsz and stz2 a size
Part = tuple[bytes, int, int]  # name, and where its content starts and ends


class Slices(Protocol):
    """Bytes, or what gives slices of bytes as these do."""

    def __len__(self) -> int: ...
    def __getitem__(self, place: slice, /) -> bytes: ...


def check_container(data: bytes, *, demuxer: str) -> None:
    """Raise Rejected for a file whose last part is cut off, or which has too many parts or samples."""
    if demuxer == "mov":
        check_mp4(data)
    else:
        _checked_parts(_PARTS[demuxer](data), size_bytes=len(data))


def check_mp4(data: Slices) -> None:
    """Raise Rejected for an mp4 whose last box is cut off, or which has too many boxes or samples."""
    boxes = _checked_parts(_boxes(data), size_bytes=len(data))
    _refuse_huge_sample_tables(data, boxes=[box for box in boxes if box[0] != b"mdat"])


def _checked_parts(parts: Iterator[Part], *, size_bytes: int) -> list[Part]:
    """All parts; raises Rejected if they are too many, or the last one is cut off."""
    found = [*itertools.islice(parts, MAX_PARTS + 1)]
    if len(found) > MAX_PARTS:
        raise Rejected(Reason.UNDECODED_LENGTH, f"more than {MAX_PARTS} parts")
    end = found[-1][2] if found else 0
    if end > size_bytes:
        raise Rejected(Reason.TRUNCATED_AUDIO, f"{size_bytes} bytes, its last part ends at {end}")
    return found


def audio_start(data: bytes) -> int:
    """Where a file begins behind an ID3v2 tag, if it has one."""
    if data[:3] != b"ID3" or len(data) < 10:
        return 0
    size = sum((byte & 0x7F) << shift for byte, shift in zip(data[6:10], (21, 14, 7, 0), strict=True))
    return 10 + size


def is_adts(data: bytes, position: int) -> bool:
    """Whether a frame of aac begins here."""
    start = data[position : position + 2]
    return len(start) == 2 and start[0] == 0xFF and start[1] & 0xF6 == 0xF0


def _boxes(data: Slices) -> Iterator[Part]:
    """The boxes of an mp4 (ISO/IEC 14496-12), those within others left out."""
    position = 0
    while position + 8 <= len(data):
        size, name, head = int.from_bytes(data[position : position + 4], "big"), data[position + 4 : position + 8], 8
        if size == 1:
            size, head = int.from_bytes(data[position + 8 : position + 16], "big"), 16
        end = len(data) if size == 0 else position + max(size, head)
        yield name, position + head, end
        position = end
    if position < len(data):
        yield b"", position, position + 8


def _objects(data: bytes) -> Iterator[Part]:
    """The objects of an asf file, those within others left out."""
    position = 0
    while position < len(data):
        end = position + max(int.from_bytes(data[position + 16 : position + 24], "little"), 24)
        yield data[position : position + 16], position + 24, end
        position = end


def _elements(data: bytes) -> Iterator[Part]:
    """The elements of a Matroska file: those of the segment and of its clusters, which need not state their sizes."""
    position = 0
    while position < len(data):
        name, _, start = _number(data, position)
        _, size, start = _number(data, start)
        end = start if size is None else start + size
        yield name, start, end
        position = start if name in (_SEGMENT, _CLUSTER) and end <= len(data) else end


def _number(data: bytes, position: int) -> tuple[bytes, int | None, int]:
    """A number of variable length: its bytes, its value (None: unknown), and where it ends."""
    first = data[position] if position < len(data) else 0x80
    width = 9 - first.bit_length() if first else 8
    content = data[position : position + width]
    value = int.from_bytes(content, "big") & (1 << 7 * width) - 1
    return content, None if value == (1 << 7 * width) - 1 else value, position + width


def _amr_frames(data: bytes) -> Iterator[Part]:
    magic, sizes = next((one for one in _AMR_BYTES.items() if data.startswith(one[0])), (b"", (0,) * 16))
    position = len(magic)
    while position < len(data):
        end = position + 1 + sizes[data[position] >> 3 & 15]
        yield b"", position, end
        position = end


def _adts_frames(data: bytes) -> Iterator[Part]:
    position = audio_start(data)
    while is_adts(data, position) or data[position:] == b"\xff":
        head = data[position : position + _ADTS_BYTES]
        whole = len(head) == _ADTS_BYTES
        size = (head[3] & 3) << 11 | head[4] << 3 | head[5] >> 5 if whole else _ADTS_BYTES
        end = position + max(size, _ADTS_BYTES)
        yield b"", position, end
        position = end


_PARTS = {"matroska": _elements, "asf": _objects, "amr": _amr_frames, "aac": _adts_frames}


def _refuse_huge_sample_tables(data: Slices, *, boxes: list[Part]) -> None:
    """Raise Rejected for an mp4 that states more samples than a recording of speech can have.

    Args:
        boxes: those that hold no sound.
    """
    points_anywhere, count = False, 0
    for head in _heads(data, boxes=boxes):
        if b"cmov" in head:
            raise Rejected(Reason.UNREADABLE_AUDIO, "a compressed index")
        points_anywhere |= b"sidx" in head or b"tfra" in head  # at parts of the index, which may lie anywhere
    heads = [data[:]] if points_anywhere else _heads(data, boxes=boxes)
    for match in itertools.chain.from_iterable(map(_COUNTED.finditer, heads)):
        start = match.end() + (4 if match[0] == b"trun" else 8)
        count += int.from_bytes(match.string[start : start + 4], "big")
        if count > MAX_INDEXED:
            raise Rejected(Reason.UNDECODED_LENGTH, f"an index of more than {MAX_INDEXED} samples; make a FLAC of it")


def _heads(data: Slices, *, boxes: list[Part]) -> Iterator[bytes]:
    return (name + data[start:end] for name, start, end in boxes)
