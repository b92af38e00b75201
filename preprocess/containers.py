"""Decode mp4, webm, wma, aac and amr by FFmpeg where PyAV is installed; libsndfile reads none of these formats.

A file is given to the one demuxer that its first bytes name, and its sound to a decoder of `CODECS`: FFmpeg tries no
other on it, opens no other file, and decodes no picture.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from preprocess.utterance import Reason, Rejected

if TYPE_CHECKING:
    import av

# FFmpeg's name of a demuxer: where the files that it reads have which bytes
DEMUXERS = {
    "mov": (4, b"ftyp"),  # mp4, m4a, 3gp
    "matroska": (0, b"\x1a\x45\xdf\xa3"),  # webm, mka
    "asf": (0, bytes.fromhex("3026b2758e66cf11a6d900aa0062ce6c")),  # wma
    "amr": (0, b"#!AMR"),
    "aac": (0, b"\xff\xf1"),  # ADTS of MPEG-4 without a checksum, as all encoders write it
}
_CALLED = {"mov": "m4a or mp4", "matroska": "webm or mka", "asf": "wma", "amr": "amr", "aac": "aac"}
CODECS = (
    *("aac", "alac", "mp2", "mp2float", "mp3", "mp3float", "opus", "libopus", "vorbis", "flac", "ac3", "eac3"),
    *("wmav1", "wmav2", "wmapro", "wmalossless", "wmavoice", "amrnb", "amrwb", "libopencore_amrnb"),
    *("libopencore_amrwb", "pcm_s16le", "pcm_s16be", "pcm_s24le", "pcm_s24be", "pcm_s32le", "pcm_f32le"),
)
MAX_STREAMS = 8
MAX_FRAME_SAMPLES = 2048  # of which the last ones may be padding
STATES_LENGTH = {"mov", "matroska", "asf"}  # of the others, FFmpeg estimates the length from the size
SLACK_SAMPLES = 2200  # an encoder's first samples, which may or may not be counted: 2,112 of Apple's aac

# RFC 4867: bytes of a frame by its type; others are no speech
_AMR_BYTES = {
    b"#!AMR\n": (12, 13, 15, 17, 19, 20, 26, 31, 5, 0, 0, 0, 0, 0, 0, 0),
    b"#!AMR-WB\n": (17, 23, 32, 36, 40, 46, 50, 58, 60, 5, 0, 0, 0, 0, 0, 0),
}
_ADTS_SYNC, _ADTS_BYTES = b"\xff\xf1", 7  # ISO/IEC 14496-3: a frame's first bytes, and the size of its header
_FULL_SCALE = {"u8": 128.0, "s16": 2.0**15, "s32": 2.0**31, "flt": 1.0, "dbl": 1.0}


def find_demuxer(data: bytes) -> str | None:
    """The demuxer of a file by its first bytes; None: libsndfile is to read it."""
    for name, (start, expected) in DEMUXERS.items():
        if data[start : start + len(expected)] == expected:
            return name
    return None


def decode_container(
    data: bytes, *, demuxer: str, max_duration_s: float, max_bytes: int, max_channels: int
) -> tuple[np.ndarray, int]:
    """Decode the sound of a file.

    Args:
        data: the whole file.
        demuxer: of `find_demuxer`.
        max_bytes: of the samples, as float32.

    Returns:
        Samples [S, channels] float32, full scale ±1, and their rate in Hz.

    Raises:
        Rejected: PyAV is not installed, or the file is damaged, cut off or too long, or holds no sound or several.
    """
    try:
        import av
    except ImportError:
        message = f"{_CALLED[demuxer]}: libsndfile does not read it; FFmpeg does: pip install 'myxtts[formats]'"
        raise Rejected(Reason.UNREADABLE_AUDIO, message) from None
    _check_frames(data)
    options = {
        "format_whitelist": demuxer if demuxer != "mov" else "mov,mp4,m4a,3gp,3g2,mj2",
        "codec_whitelist": ",".join(CODECS),
        "protocol_whitelist": "none",
        "max_streams": str(MAX_STREAMS),
    }
    try:
        with av.open(io.BytesIO(data), "r", format=demuxer, options=options, metadata_errors="replace") as container:
            stream = _only_stream(container)
            parts, rate_hz = _read(
                container.decode(stream), max_duration_s=max_duration_s, max_bytes=max_bytes, max_channels=max_channels
            )
            stated_s = _stated_s(container, stream) if demuxer in STATES_LENGTH else 0.0
    except (av.FFmpegError, EOFError, ValueError) as error:
        raise Rejected(Reason.UNREADABLE_AUDIO, f"FFmpeg: {' '.join(str(error).split())[:200]}") from error
    samples = np.concatenate(parts) if parts else np.zeros((0, 1), np.float32)
    excess = len(samples) - round(stated_s * rate_hz)
    if excess < -SLACK_SAMPLES:
        message = f"{len(samples) / rate_hz:.2f} s, its header says {stated_s:.2f} s"
        raise Rejected(Reason.TRUNCATED_AUDIO, message)
    if demuxer == "mov" and 0 < excess < MAX_FRAME_SAMPLES:  # it states the length to the sample
        samples = samples[:-excess]
    return samples, rate_hz


def _only_stream(container: av.container.InputContainer) -> Any:
    streams = container.streams.audio
    if len(streams) != 1:
        raise Rejected(Reason.UNREADABLE_AUDIO, f"{len(streams)} audio streams, expected one")
    (stream,) = streams
    if stream.codec_context is None or stream.codec_context.name not in CODECS:
        name = "unknown" if stream.codec_context is None else stream.codec_context.name
        raise Rejected(Reason.UNREADABLE_AUDIO, f"sound of the codec {name}, which is not read")
    stream.codec_context.thread_count = 1
    return stream


def _stated_s(container: av.container.InputContainer, stream: Any) -> float:
    """The length in the headers in seconds; 0 if they state none, as those of recorded streams."""
    if stream.duration is not None and stream.time_base is not None:
        return float(stream.duration * stream.time_base)
    return 0.0 if container.duration is None else container.duration / 1e6


def _read(
    frames: Iterator[av.AudioFrame], *, max_duration_s: float, max_bytes: int, max_channels: int
) -> tuple[list[np.ndarray], int]:
    """The samples of all frames, each [S, channels], and their rate in Hz."""
    parts, count, found = list[np.ndarray](), 0, (0, 0)
    for frame in frames:
        kind = frame.sample_rate, frame.layout.nb_channels
        if found not in ((0, 0), kind):
            message = f"{kind[0]} Hz and {kind[1]} channels after {found[0]} Hz and {found[1]} channels"
            raise Rejected(Reason.UNREADABLE_AUDIO, message)
        found, count = kind, count + frame.samples
        if kind[1] > max_channels or kind[0] <= 0:
            raise Rejected(Reason.UNREADABLE_AUDIO, f"{kind[1]} channels at {kind[0]} Hz")
        if count > max_duration_s * kind[0] or count * kind[1] * 4 > max_bytes:
            raise Rejected(Reason.UNDECODED_LENGTH, f"longer than {max_duration_s} s")
        parts.append(_samples(frame, channels=kind[1]))
    return parts, found[0]


def _samples(frame: av.AudioFrame, *, channels: int) -> np.ndarray:
    values, kind = frame.to_ndarray(), frame.format.name.removesuffix("p")
    if kind not in _FULL_SCALE:
        raise Rejected(Reason.UNREADABLE_AUDIO, f"samples of the kind {frame.format.name}, which are not read")
    rows = values.T if frame.format.is_planar else values.reshape(-1, channels)
    if kind == "u8":
        rows = rows.astype(np.float32) - 128.0
    return np.ascontiguousarray(rows / np.float32(_FULL_SCALE[kind]), np.float32)


def _check_frames(data: bytes) -> None:
    """Raise Rejected if the last frame of a file that is nothing but frames, aac or amr, is cut off."""
    position = frame_end(data)
    if position > len(data):
        message = f"the last frame has {position - len(data)} bytes less than it says"
        raise Rejected(Reason.TRUNCATED_AUDIO, message)


def frame_end(data: bytes) -> int:
    """Where the last frame of an aac or amr file says that it ends; 0 for other files.

    What follows the frames, such as a tag, is not looked at.
    """
    for magic, sizes in _AMR_BYTES.items():
        if data.startswith(magic):
            position = len(magic)
            while position < len(data):
                position += 1 + sizes[data[position] >> 3 & 15]
            return position
    position = 0
    while head := data[position : position + _ADTS_BYTES]:
        if not _ADTS_SYNC.startswith(head[:2]):
            break
        if len(head) < _ADTS_BYTES:
            return position + _ADTS_BYTES
        position += max((head[3] & 3) << 11 | head[4] << 3 | head[5] >> 5, _ADTS_BYTES)
    return position
