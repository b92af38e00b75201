"""Reads a part of an mp3, m4a or mp4 by FFmpeg, where PyAV is installed: the samples of a decoding of all of it.

FFmpeg finds the part by the headers of all frames of an mp3, and by the index of an mp4. It begins to decode a second
before the part, because a frame needs what is before it: one of an mp3 continues up to 511 bytes of earlier frames,
which at 8 kbit/s is half a second. Where an encoder of aac put noise in the place of sound (perceptual noise
substitution), a decoder makes that noise up, and it is another one than in a decoding from the start.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from preprocess.containers import (
    decoded_frames,
    demuxer_options,
    ffmpeg_rejection,
    frame_samples,
    only_stream,
    stated_samples,
)
from preprocess.utterance import Reason, Rejected

if TYPE_CHECKING:
    import av

LEAD_S = 1.0
MAX_LEAD_S = 60.0  # where FFmpeg begins earlier than asked


def read_ffmpeg_part(
    file: io.IOBase, *, demuxer: str, start_s: float, end_s: float | None, max_values: int
) -> tuple[np.ndarray, int]:
    """Decode a part of a recording, or as much of it as the recording holds.

    Args:
        demuxer: "mp3" or "mov".
        end_s: None: the end of the recording.
        max_values: the most samples times channels that are decoded.

    Returns:
        Samples [S, channels] float32 from the one nearest to `start_s`, and their rate in Hz.

    Raises:
        Rejected: PyAV is not installed, the file is damaged, or the part is too long or behind its end.
    """
    try:
        import av
    except ImportError:
        message = "its parts are read by FFmpeg: pip install 'myxtts[formats]', or make a FLAC of the recording"
        raise Rejected(Reason.UNREADABLE_AUDIO, message) from None
    options = demuxer_options(demuxer)
    try:
        with av.open(file, "r", format=demuxer, options=options, metadata_errors="replace") as container:
            stream = only_stream(container)
            rate_hz: int = stream.rate
            start, stop = round(start_s * rate_hz), None if end_s is None else round(end_s * rate_hz)
            if demuxer == "mov" and stop is None and stream.duration:
                stop = stated_samples(float(stream.duration * stream.time_base), rate_hz=rate_hz)
            if stop is not None and start >= stop:
                raise Rejected(Reason.EMPTY_AUDIO, "no sample of the recording")
            parts, position = _decode(container, start=start, stop=stop, max_values=max_values)
    except (av.FFmpegError, EOFError, ValueError) as error:
        raise ffmpeg_rejection(error) from error
    if not parts or position + sum(map(len, parts)) <= start:
        raise Rejected(Reason.EMPTY_AUDIO, "no sample of the recording: the part begins behind its end")
    return np.concatenate(parts)[start - position : None if stop is None else stop - position], rate_hz


def _decode(
    container: av.container.InputContainer, *, start: int, stop: int | None, max_values: int
) -> tuple[list[np.ndarray], int]:
    """Decoded samples that hold the part, and the position of the first one."""
    stream = only_stream(container)
    rate_hz, first = stream.rate, stream.start_time or 0  # of the first sample that is heard
    if start > LEAD_S * rate_hz:  # else from the start, where a seek would leave the first frame out
        earliest_s = start / rate_hz - LEAD_S
        container.seek(first + int(earliest_s / stream.time_base), stream=stream, backward=True)
    parts, position, count = list[np.ndarray](), 0, 0
    for frame in decoded_frames(container, stream):
        if not parts:
            position = round(((frame.pts or 0) - first) * stream.time_base * rate_hz)
            if not start - MAX_LEAD_S * rate_hz <= position <= start:
                raise Rejected(Reason.UNREADABLE_AUDIO, f"FFmpeg does not find sample {start}")
        parts.append(frame_samples(frame))
        if frame.sample_rate != rate_hz or parts[-1].shape[1] != parts[0].shape[1]:
            raise Rejected(Reason.UNREADABLE_AUDIO, "the rate or the number of channels changes")
        count += len(parts[-1])
        if count * parts[-1].shape[1] > max_values:
            raise Rejected(Reason.UNDECODED_LENGTH, f"a part of more than {count / rate_hz:.0f} s")
        if stop is not None and position + count >= stop:
            break
    return parts, position
