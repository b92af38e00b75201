"""Reads a part of an mp3 by FFmpeg, where PyAV is installed: the same samples as if all of it were decoded.

FFmpeg reads the headers of all frames up to the part. It begins to decode a second before the part, because a frame of
an mp3 continues up to 511 bytes of frames before it, which at 8 kbit/s is half a second.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from preprocess.containers import decoded_frames, frame_samples, only_stream
from preprocess.utterance import Reason, Rejected

if TYPE_CHECKING:
    import av

LEAD_S = 1.0
MAX_LEAD_S = 60.0  # where FFmpeg begins earlier than asked
_OPTIONS = {"format_whitelist": "mp3", "codec_whitelist": "mp3,mp3float", "protocol_whitelist": "none"}


def read_mp3_part(file: io.RawIOBase, *, start: int, stop: int | None, rate_hz: int, max_values: int) -> np.ndarray:
    """The samples [S, channels] float32 from `start` to `stop`, or to the end of the recording if that comes first.

    Args:
        start, stop: in samples from the beginning; None: the end of the recording.
        rate_hz: of the recording, as libsndfile finds it.
        max_values: the most samples times channels that are kept.

    Raises:
        Rejected: PyAV is not installed, the file is damaged, or the part is too long or behind its end.
    """
    try:
        import av
    except ImportError:
        message = "parts of an mp3 are read by FFmpeg: pip install 'myxtts[formats]', or make a FLAC of the recording"
        raise Rejected(Reason.UNREADABLE_AUDIO, message) from None
    try:
        with av.open(file, "r", format="mp3", options=_OPTIONS, metadata_errors="replace") as container:
            parts, position = _decode(container, start=start, stop=stop, rate_hz=rate_hz, max_values=max_values)
    except (av.FFmpegError, EOFError, ValueError) as error:
        raise Rejected(Reason.UNREADABLE_AUDIO, f"FFmpeg: {' '.join(str(error).split())[:200]}") from error
    if not parts or position + sum(map(len, parts)) <= start:
        raise Rejected(Reason.EMPTY_AUDIO, "no sample of the recording: the part begins behind its end")
    return np.concatenate(parts)[start - position : None if stop is None else stop - position]


def _decode(
    container: av.container.InputContainer, *, start: int, stop: int | None, rate_hz: int, max_values: int
) -> tuple[list[np.ndarray], int]:
    """Decoded samples that hold the part, and the position of the first one."""
    stream = only_stream(container)
    if stream.rate != rate_hz:
        raise Rejected(Reason.UNREADABLE_AUDIO, f"{rate_hz} Hz for libsndfile, {stream.rate} Hz for FFmpeg")
    first = stream.start_time or 0  # of the first sample that is heard
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
        if parts[-1].shape[1] != parts[0].shape[1]:
            raise Rejected(Reason.UNREADABLE_AUDIO, "the number of channels changes")
        count += len(parts[-1])
        if count * parts[-1].shape[1] > max_values:
            raise Rejected(Reason.UNDECODED_LENGTH, f"a part of more than {count / rate_hz:.0f} s")
        if stop is not None and position + count >= stop:
            break
    return parts, position
