"""The length of an mp3 whose header does not state it: libsndfile assumes the first frame's bit rate for all frames.

A frame of layer III begins with 32 bits: 11 of sync, 2 of version, 2 of layer, 1, 4 of bit rate, 2 of sample rate,
1 of padding, … (ISO/IEC 11172-3 section 2.4.2.3, 13818-3 section 2.4.2.3). An encoder can write its own header as the
first frame, which holds no sound but one of the words `Xing`, `Info` or `VBRI`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_LOW_KBITS_PER_S = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
_KBITS_PER_S = {
    3: (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),  # MPEG-1
    2: _LOW_KBITS_PER_S,  # MPEG-2
    0: _LOW_KBITS_PER_S,  # MPEG-2.5
}
_RATES_HZ = {3: (44_100, 48_000, 32_000), 2: (22_050, 24_000, 16_000), 0: (11_025, 12_000, 8_000)}
_LAYER_III = 1
_OWN_HEADERS = (b"Xing", b"Info", b"VBRI")
_HEADER_BYTES, _ID3_BYTES = 4, 10


class Mp3Frame(NamedTuple):
    """A frame of an mp3."""

    offset: int
    size_bytes: int
    samples: int  # of each channel


def count_mp3_samples(data: bytes) -> int | None:
    """The number of samples per channel in an mp3's frames; None if its header states the length, or it is no mp3."""
    frames = _frames(data)
    first = next(frames, None)
    if first is None or any(name in data[first.offset : first.offset + first.size_bytes] for name in _OWN_HEADERS):
        return None
    return first.samples + sum(frame.samples for frame in frames)


def _frames(data: bytes) -> Iterator[Mp3Frame]:
    """Consecutive frames, up to the first gap."""
    offset = first_frame_offset(data)
    while (frame := _frame_at(data, offset)) is not None:
        yield frame
        offset += frame.size_bytes


def starts_with_mp3_frame(data: bytes) -> bool:
    """Whether bytes begin with a frame of mp3."""
    return _frame_at(data, 0) is not None


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
    if header >> 21 != 0x7FF or version == 1 or layer != _LAYER_III or rate == 3 or bits in (0, 15):
        return None
    samples = 1152 if version == 3 else 576
    size_bytes = samples // 8 * _KBITS_PER_S[version][bits] * 1000 // _RATES_HZ[version][rate] + padding
    return Mp3Frame(offset, size_bytes, samples) if offset + size_bytes <= len(data) else None
