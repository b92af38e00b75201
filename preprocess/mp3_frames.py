"""The frames of an mp3 or mp2: its length where no header states one, and sound behind the length that one states.

Without a header, libsndfile assumes the first bit rate for all frames.

A frame of layer III (mp3) or II (mp2) begins with 32 bits: 11 of sync, 2 of version, 2 of layer, 1, 4 of bit rate, 2 of
sample rate, 1 of padding, … (ISO/IEC 11172-3 section 2.4.2.3, 13818-3 section 2.4.2.3). An encoder can write its own
header as the first frame, which holds no sound but one of the words `Xing`, `Info` or `VBRI`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from preprocess.utterance import Reason, Rejected

_LOW_KBITS_PER_S = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
_LAYER_III, _LAYER_II = 1, 2
_KBITS_PER_S = {  # of MPEG-1; those of MPEG-2 and 2.5 are the low ones, whatever the layer
    _LAYER_III: (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    _LAYER_II: (0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
}
_MPEG_1 = 3
_RATES_HZ = {3: (44_100, 48_000, 32_000), 2: (22_050, 24_000, 16_000), 0: (11_025, 12_000, 8_000)}
_OWN_HEADERS = (b"Xing", b"Info", b"VBRI")
_STATES_FRAMES, _STATES_BYTES = 1, 2  # flags of `Xing` and `Info`
_HEADER_BYTES, _ID3_BYTES = 4, 10
_FEW_FRAMES = 20  # half a second


class Mp3Frame(NamedTuple):
    """A frame of an mp3 or mp2."""

    offset: int
    size_bytes: int
    samples: int  # of each channel
    layer: int


def count_mp3_samples(data: bytes) -> int | None:
    """The number of samples per channel in the frames; None if a header states the length, or the first is no frame.

    Raises:
        Rejected: the last frame is cut off.
    """
    frames = _frames(data)
    first = next(frames, None)
    if first is None or any(name in data[first.offset : first.offset + first.size_bytes] for name in _OWN_HEADERS):
        return None
    return first.samples + sum(frame.samples for frame in frames)


def holds_another_mp3(data: bytes) -> bool:
    """Whether half a second or more of sound follows behind the bytes that the header of an mp3 states."""
    start = first_frame_offset(data)
    first = _frame_at(data, start)
    head = b"" if first is None else data[start : start + first.size_bytes]
    place = max(head.find(name) for name in _OWN_HEADERS[:2])
    flags = int.from_bytes(head[place + 4 : place + 8], "big")
    if first is None or place < 0 or not flags & _STATES_BYTES:
        return False
    place += 12 if flags & _STATES_FRAMES else 8
    end = start + int.from_bytes(head[place : place + 4], "big")
    ends = (end, end + first.size_bytes)  # some encoders do not count their header
    return any(len([*itertools.islice(_frames(data[one:]), _FEW_FRAMES)]) == _FEW_FRAMES for one in ends)


def _frames(data: bytes) -> Iterator[Mp3Frame]:
    """Consecutive frames of one layer, up to the first gap."""
    offset = start = first_frame_offset(data)
    layer = None
    while (frame := _frame_at(data, offset)) is not None and layer in (None, frame.layer):
        if offset + frame.size_bytes > len(data):
            if offset == start:
                return
            held = len(data) - offset
            raise Rejected(Reason.TRUNCATED_AUDIO, f"{held} bytes of its last frame, which has {frame.size_bytes}")
        layer = frame.layer
        yield frame
        offset += frame.size_bytes
    rest = data[offset:]
    if layer is not None and 0 < len(rest) < _HEADER_BYTES and data.startswith(rest[:2], start):
        raise Rejected(Reason.TRUNCATED_AUDIO, f"{len(rest)} bytes of its last frame")


def starts_with_mp3_frame(data: bytes) -> bool:
    """Whether bytes begin with a whole frame of mp3."""
    frame = _frame_at(data, 0)
    return frame is not None and frame.layer == _LAYER_III and frame.size_bytes <= len(data)


def first_frame_offset(data: bytes) -> int:
    """The offset of the first frame; an ID3 tag states its size in four times seven bits."""
    if data[:3] != b"ID3" or len(data) < _ID3_BYTES:
        return 0
    size = 0
    for byte in data[6:_ID3_BYTES]:
        size = size << 7 | byte & 0x7F
    return _ID3_BYTES + size


def _frame_at(data: bytes, offset: int) -> Mp3Frame | None:
    header = int.from_bytes(data[offset : offset + _HEADER_BYTES], "big")
    version, layer, rate = header >> 19 & 3, header >> 17 & 3, header >> 10 & 3
    bits, padding = header >> 12 & 15, header >> 9 & 1
    if header >> 21 != 0x7FF or version == 1 or layer not in _KBITS_PER_S or rate == 3 or bits in (0, 15):
        return None
    samples = 1152 if version == _MPEG_1 or layer == _LAYER_II else 576
    kbits_per_s = _KBITS_PER_S[layer] if version == _MPEG_1 else _LOW_KBITS_PER_S
    size_bytes = samples // 8 * kbits_per_s[bits] * 1000 // _RATES_HZ[version][rate] + padding
    return Mp3Frame(offset, size_bytes, samples, layer)
