"""Reads a part of an mp3 by FFmpeg, where PyAV is installed: the samples of a decoding of all of it.

No header of an mp3 tells where its frames lie. FFmpeg reads all their headers once, and the places of some of them are
kept for the other parts of the recording. A part is decoded from a second before it on, because a frame continues up to
511 bytes of earlier frames, which at 8 kbit/s is half a second.
"""

from __future__ import annotations

import bisect
from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from preprocess.containers import ffmpeg_errors, only_stream, opened_container
from preprocess.ffmpeg_parts import LEAD_S, check_not_empty, join_frames
from preprocess.recording_cache import RecordingCache
from preprocess.utterance import Reason, Rejected
from preprocess.watched_file import WatchedFile

if TYPE_CHECKING:
    import av

SPACING_S = 0.5  # between frames whose places are kept: 16 bytes each, 115 kB for an hour
BLOCK_BYTES = 1 << 14
_BEHIND_ALL = 1 << 60  # a time after which no frame is
_END_PADDING = slice(4, 8)  # of FFmpeg's AV_PKT_DATA_SKIP_SAMPLES: samples to leave out at the end of a packet


class FramePlaces(NamedTuple):
    """Where frames of an mp3 begin: at which byte, and at which sample of those that are heard."""

    codec: str
    rate_hz: int
    offsets_bytes: array[int]
    positions: array[int]  # the first one is negative, for a decoder needs samples before the first that is heard
    samples: int  # in the recording


def read_mp3_part(file: WatchedFile, *, start_s: float, end_s: float | None, max_values: int) -> tuple[np.ndarray, int]:
    """Decode a part of an mp3, or as much of it as the mp3 holds.

    Args:
        end_s: None: the end of the recording.
        max_values: the most samples times channels that are decoded.

    Returns:
        Samples [S, channels] float32 from the one nearest to `start_s`, and their rate in Hz.

    Raises:
        Rejected: PyAV is not installed, the file is damaged, or the part is too long or behind its end.
    """
    with ffmpeg_errors(demuxer="mp3"):
        places = PLACES.get(file)
        start = round(start_s * places.rate_hz)
        stop = places.samples if end_s is None else min(round(end_s * places.rate_hz), places.samples)
        check_not_empty(start, stop=stop, samples=places.samples)
        nearest = max(bisect.bisect_right(places.positions, start - LEAD_S * places.rate_hz) - 1, 0)
        samples = join_frames(
            _frames(file, codec=places.codec, offset_bytes=places.offsets_bytes[nearest]),
            rate_hz=places.rate_hz,
            position=places.positions[nearest],
            start=start,
            stop=stop,
            max_values=max_values,
        )
    return samples, places.rate_hz


def _find_places(file: WatchedFile) -> FramePlaces:
    """Let FFmpeg read the headers of all frames."""
    with opened_container(file, demuxer="mp3") as container:
        stream = only_stream(container)
        container.seek(_BEHIND_ALL, stream=stream, backward=True)  # FFmpeg notes the frames that it passes
        samples = _end(container, stream)
        offsets, positions = array("q"), array("q")
        for entry in stream.index_entries:
            position = _position(entry.timestamp, stream)
            if not positions or position - positions[-1] >= SPACING_S * stream.rate:
                offsets.append(entry.pos)
                positions.append(position)
        if not positions:
            raise Rejected(Reason.EMPTY_AUDIO, "no frame of mp3")
        return FramePlaces(stream.codec_context.name, stream.rate, offsets, positions, samples)


PLACES = RecordingCache(_find_places)


def _position(time: int, stream: Any) -> int:
    """The sample at a time in the stream's units, counted from the first one that is heard."""
    return round((time - (stream.start_time or 0)) * stream.time_base * stream.rate)


def _end(container: av.container.InputContainer, stream: Any) -> int:
    """The number of samples that are heard, by the last frame; what an encoder has filled it up with is left out."""
    end = 0
    for packet in container.demux(stream):
        if packet.size and packet.pts is not None:
            padding = bytes(packet.get_sidedata("skip_samples"))[_END_PADDING]
            end = _position(packet.pts + (packet.duration or 0), stream) - int.from_bytes(padding, "little")
    return end


def _frames(file: WatchedFile, *, codec: str, offset_bytes: int) -> Iterator[av.AudioFrame]:
    """Decode the frames from a place on."""
    import av

    decoder: Any = av.CodecContext.create(codec, "r")
    decoder.thread_count = 1
    file.seek(offset_bytes)
    while block := file.read(BLOCK_BYTES):
        for packet in decoder.parse(block):
            yield from decoder.decode(packet)
    for packet in decoder.parse():  # the frame that it still holds
        yield from decoder.decode(packet)
