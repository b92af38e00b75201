"""Reads a part of an m4a or mp4 by FFmpeg, where PyAV is installed: the samples of a decoding of all of it.

FFmpeg finds the part by the file's own index, and begins to decode a second before the part, because a frame needs what
is before it. Where an encoder of aac put noise in the place of sound (perceptual noise substitution), a decoder makes
that noise up, and it is another one than in a decoding from the start.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from preprocess.containers import decoded_frames, frame_samples, only_stream, opened_container, stated_samples
from preprocess.utterance import Reason, Rejected

if TYPE_CHECKING:
    import av

LEAD_S = 1.0
MAX_LEAD_S = 60.0  # where FFmpeg begins earlier than asked
BEHIND_END = "no sample of the recording: the part begins behind its end"


def read_mp4_part(file: io.IOBase, *, start_s: float, end_s: float | None, max_values: int) -> tuple[np.ndarray, int]:
    """Decode a part of a recording, or as much of it as the recording holds.

    Args:
        file: a recording that `check_mp4` has checked.
        end_s: None: the end of the recording.
        max_values: the most samples times channels that are decoded.

    Returns:
        Samples [S, channels] float32 from the one nearest to `start_s`, and their rate in Hz.

    Raises:
        Rejected: PyAV is not installed, the file is damaged, or the part is too long or behind its end.
    """
    with opened_container(file, demuxer="mov") as container:
        stream = only_stream(container)
        rate_hz: int = stream.rate
        start, stop = round(start_s * rate_hz), None if end_s is None else round(end_s * rate_hz)
        if stop is None and stream.duration:
            stop = stated_samples(float(stream.duration * stream.time_base), rate_hz=rate_hz)
        check_not_empty(start, stop=stop)
        return _decode(container, start=start, stop=stop, max_values=max_values), rate_hz


def check_not_empty(start: int, *, stop: int | None, samples: int | None = None) -> None:
    """Raise Rejected if a part from `start` to the sample before `stop` holds none of the `samples` of a recording."""
    if samples is not None and start >= samples:
        raise Rejected(Reason.EMPTY_AUDIO, BEHIND_END)
    if stop is not None and start >= stop:
        raise Rejected(Reason.EMPTY_AUDIO, "no sample of the recording")


def _decode(container: av.container.InputContainer, *, start: int, stop: int | None, max_values: int) -> np.ndarray:
    """The samples of the part, of whose end the recording may hold less."""
    stream = only_stream(container)
    rate_hz, first = stream.rate, stream.start_time or 0  # of the first sample that is heard
    if start > LEAD_S * rate_hz:  # else from the start, where a seek would leave the first frame out
        earliest_s = start / rate_hz - LEAD_S
        container.seek(first + int(earliest_s / stream.time_base), stream=stream, backward=True)
    frames = decoded_frames(container, stream)
    begin = next(frames, None)
    position = 0 if begin is None else round(((begin.pts or 0) - first) * stream.time_base * rate_hz)
    if not start - MAX_LEAD_S * rate_hz <= position <= start and begin is not None:
        raise Rejected(Reason.UNREADABLE_AUDIO, f"FFmpeg does not find sample {start}")
    decoded = itertools.chain([] if begin is None else [begin], frames)
    return join_frames(decoded, rate_hz=rate_hz, position=position, start=start, stop=stop, max_values=max_values)


def join_frames(
    frames: Iterable[av.AudioFrame], *, rate_hz: int, position: int, start: int, stop: int | None, max_values: int
) -> np.ndarray:
    """The samples [S, channels] from `start` to before `stop`, or to the last frame.

    Args:
        position: that of the first sample of the first frame, at most `start`; it may be negative.

    Raises:
        Rejected: the last frame ends before `start`; the frames differ in rate or channels, or hold too many values.
    """
    parts, end = list[np.ndarray](), position
    for frame in frames:
        parts.append(frame_samples(frame))
        if frame.sample_rate != rate_hz or parts[-1].shape[1] != parts[0].shape[1]:
            raise Rejected(Reason.UNREADABLE_AUDIO, "the rate or the number of channels changes")
        end += len(parts[-1])
        if (end - position) * parts[-1].shape[1] > max_values:
            raise Rejected(Reason.UNDECODED_LENGTH, f"a part of more than {(end - position) / rate_hz:.0f} s")
        if stop is not None and end >= stop:
            break
    if end <= start:
        raise Rejected(Reason.EMPTY_AUDIO, BEHIND_END)
    return np.concatenate(parts)[start - position : None if stop is None else stop - position]
