"""Wav files: their chunks, truncated samples, and whether the trainer can read their samples directly."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from preprocess.utterance import Reason, Rejected
from shared.records import PCM_FULL_SCALE

CHUNKS_START = 12
PLAIN_PCM, EXTENSIBLE = 1, 0xFFFE
# Offset of EXTENSIBLE's subformat, whose first two bytes are the format tag.
SUBFORMAT = 24
# Sizes in place of one that a program that writes into a pipe does not know: FFmpeg, and SoX, eSpeak and arecord, which
# round 2 GiB down. No file that is read is as long.
UNSTATED, UNSTATED_FROM, UNSTATED_TO = 0xFFFF_FFFF, 0x7FFF_EF00, 0x8000_0000


class Chunk(NamedTuple):
    """A chunk and its position; a damaged file can end before the chunk's content does."""

    name: bytes
    start: int  # of its content
    size: int  # of its content, as stated in its header


def chunks(data: bytes) -> Iterator[Chunk]:
    """Yield the chunks of a RIFF WAVE file; other files have none."""
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        return
    position = CHUNKS_START
    while position + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, position)
        position += 8
        yield Chunk(name, position, size)
        position += size + size % 2


def check_truncation(data: bytes) -> None:
    """Raise Rejected for a wav with fewer samples than its header states; libsndfile reads it as a shorter one.

    A wav that was written into a pipe states no length: it ends with its last whole sample.
    """
    frame_bytes = 1
    for chunk in chunks(data):
        if chunk.name == b"fmt " and chunk.start + 14 <= len(data):
            (frame_bytes,) = struct.unpack_from("<H", data, chunk.start + 12)
        if chunk.name == b"data":
            _check_data(chunk, found=len(data) - chunk.start, frame_bytes=max(frame_bytes, 1))
            return


def _check_data(chunk: Chunk, *, found: int, frame_bytes: int) -> None:
    is_unstated = chunk.size == UNSTATED or UNSTATED_FROM <= chunk.size <= UNSTATED_TO
    if chunk.size > found and not (is_unstated and found % frame_bytes == 0):
        stated = "the last sample is not whole" if is_unstated else f"its header says {chunk.size}"
        raise Rejected(Reason.TRUNCATED_AUDIO, f"{found} bytes of samples, {stated}")


def check_plain_pcm(data: bytes, *, rate_hz: int, samples: np.ndarray) -> None:
    """Raise Rejected for a recording from which `trainer/data/wav_decoder.py` would not read the same samples.

    The trainer reads 16-bit PCM at the rate of the mels, and the first data chunk; libsndfile can take another chunk
    if there are several.

    Args:
        samples: the mean of the channels as libsndfile decoded it, [S] float32.
    """
    first: dict[bytes, Chunk] = {}
    for chunk in chunks(data):
        first.setdefault(chunk.name, chunk)
    difference = _describe_difference(data, first, rate_hz=rate_hz, samples=samples)
    if difference:
        raise Rejected(Reason.NOT_PLAIN_WAV, f"{difference}, which training without stored mels does not read")


def _describe_difference(data: bytes, first: dict[bytes, Chunk], *, rate_hz: int, samples: np.ndarray) -> str:
    if b"fmt " not in first or b"data" not in first:
        return "no RIFF wav"
    at = first[b"fmt "].start
    if at + 16 > len(data):
        return "a wav without its format"
    tag, channels, found_hz, _, frame_bytes, bits = struct.unpack_from("<HHIIHH", data, at)
    if tag == EXTENSIBLE and first[b"fmt "].size >= SUBFORMAT + 2:
        (tag,) = struct.unpack_from("<H", data, at + SUBFORMAT)
    if tag != PLAIN_PCM or bits != 16 or frame_bytes != 2 * channels or channels == 0:
        return f"a wav of format {tag} with {bits} bits, not 16-bit PCM"
    if found_hz != rate_hz:
        return f"a wav at {found_hz} Hz, not at {rate_hz}"
    start, size = first[b"data"].start, first[b"data"].size
    stated = size // frame_bytes
    if stated != len(samples):
        return f"a wav whose header says {stated} samples, not {len(samples)}"
    if start + size > len(data):
        return "a wav that is cut off"
    pcm = np.frombuffer(data, "<i2", stated * channels, start).reshape(stated, channels)
    is_same = np.allclose((pcm / np.float32(PCM_FULL_SCALE)).mean(axis=1), samples, rtol=0, atol=0.5 / PCM_FULL_SCALE)
    return "" if is_same else "a wav with several data chunks"
