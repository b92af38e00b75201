"""Decode mp4, webm, wma, aac and amr by FFmpeg where PyAV is installed; libsndfile reads none of these formats.

A file is given to the one demuxer that its first bytes name, and its sound to a decoder of `CODECS`: FFmpeg tries no
other on it, opens no other file, and decodes no picture.
"""

from __future__ import annotations

import contextlib
import io
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from preprocess.container_checks import audio_start, check_container, is_adts
from preprocess.utterance import MissingReader, Reason, Rejected

if TYPE_CHECKING:
    import av

# FFmpeg's name of a demuxer: where the files that it reads have which bytes; aac is recognised by its frames
DEMUXERS = {
    "matroska": (0, b"\x1a\x45\xdf\xa3"),  # webm, mka
    "asf": (0, bytes.fromhex("3026b2758e66cf11a6d900aa0062ce6c")),  # wma
    "amr": (0, b"#!AMR"),
    "mov": (4, b"ftyp"),  # mp4, m4a, 3gp; last, since another start may be before these bytes
}
_CALLED = {
    "mov": "m4a or mp4",
    "matroska": "webm or mka",
    "asf": "wma",
    "amr": "amr",
    "aac": "aac",
    "mp3": "a long mp3",
}
CODECS = (
    *("aac", "alac", "mp2", "mp2float", "mp3", "mp3float", "opus", "libopus", "vorbis", "flac", "ac3", "eac3"),
    *("wmav1", "wmav2", "wmapro", "wmalossless", "wmavoice", "amrnb", "libopencore_amrnb", "amrwb"),
    *("pcm_u8", "pcm_s16le", "pcm_s16be", "pcm_s24le", "pcm_s24be", "pcm_s32le", "pcm_s32be", "pcm_f32le", "pcm_f32be"),
    *("pcm_f64le", "pcm_alaw", "pcm_mulaw"),
)
PREFERRED = {"amrnb": "libopencore_amrnb"}  # FFmpeg's own decoder does not know the pauses of telephones
MAX_STREAMS = 8
MAX_FRAME_SAMPLES = 4096  # in a frame; encoders fill up the last frame with silence
TICK_S = 0.002  # mp4s round their length to 1/600 s or less
_FULL_SCALE = {"u8": 128.0, "s16": 2.0**15, "s32": 2.0**31, "flt": 1.0, "dbl": 1.0}


def find_demuxer(data: bytes) -> str | None:
    """The demuxer of a file by its first bytes; None: libsndfile is to read it."""
    for name, (start, expected) in DEMUXERS.items():
        if data[start : start + len(expected)] == expected:
            return name
    return "aac" if is_adts(data, audio_start(data)) else None


def decode_container(
    data: bytes, *, demuxer: str, max_duration_s: float, max_bytes: int, max_channels: int
) -> tuple[np.ndarray, int]:
    """Decode the sound of a file, `max_duration_s` and a frame at most.

    Args:
        data: the whole file.
        demuxer: of `find_demuxer`.
        max_bytes: of the samples, as float32.

    Returns:
        Samples [S, channels] float32, full scale ±1, and their rate in Hz.

    Raises:
        Rejected: PyAV is not installed, or the file is damaged, cut off or too long, or holds no sound or several.
    """
    check_container(data, demuxer=demuxer)
    with opened_container(io.BytesIO(data), demuxer=demuxer) as container:
        stream = only_stream(container)
        parts, rate_hz = _read(
            decoded_frames(container, stream),
            max_duration_s=max_duration_s,
            max_bytes=max_bytes,
            max_channels=max_channels,
        )
        stated_s = float(stream.duration * stream.time_base) if demuxer == "mov" and stream.duration else math.inf
    samples = np.concatenate(parts) if parts else np.zeros((0, 1), np.float32)
    samples = _without_padding(samples, stated_s=stated_s, rate_hz=rate_hz)
    if len(samples) > max_duration_s * rate_hz + 1:
        raise Rejected(Reason.UNDECODED_LENGTH, f"longer than {max_duration_s} s")
    return samples, rate_hz


@contextlib.contextmanager
def opened_container(file: io.IOBase, *, demuxer: str) -> Iterator[av.container.InputContainer]:
    """A file that FFmpeg has opened; raises MissingReader where PyAV is not installed, Rejected for FFmpeg's errors."""
    with ffmpeg_errors(demuxer=demuxer):
        import av

        options = _demuxer_options(demuxer)
        with av.open(file, "r", format=demuxer, options=options, metadata_errors="replace") as container:
            yield container


@contextlib.contextmanager
def ffmpeg_errors(*, demuxer: str) -> Iterator[None]:
    """Raise Rejected for an error of FFmpeg, and MissingReader where PyAV is not installed."""
    try:
        import av
    except ImportError:
        message = f"{_CALLED[demuxer]}: it is read by FFmpeg: pip install 'myxtts[formats]', or make a FLAC of it"
        raise MissingReader(message) from None
    try:
        yield
    except (av.FFmpegError, EOFError, ValueError) as error:
        raise _rejection(error) from error


def _rejection(error: Exception) -> Rejected:
    """The rejection for an error of FFmpeg."""
    if isinstance(error, MemoryError):  # so it also calls more streams than it may open
        message = f"more than {MAX_STREAMS} streams, or sizes that no memory holds; expected one stream of sound"
    else:
        message = f"FFmpeg: {' '.join(str(error).split())[:200]}"
    return Rejected(Reason.UNREADABLE_AUDIO, message)


def _demuxer_options(demuxer: str) -> dict[str, str]:
    """Options of FFmpeg that leave it one demuxer, the decoders of `CODECS`, and no other file."""
    return {
        "format_whitelist": demuxer if demuxer != "mov" else "mov,mp4,m4a,3gp,3g2,mj2",
        "codec_whitelist": ",".join(CODECS),
        "protocol_whitelist": "none",
        "max_streams": str(MAX_STREAMS),
    }


def only_stream(container: av.container.InputContainer) -> Any:
    """The stream of the sound; raises Rejected unless there is one, of a codec that is read."""
    streams = container.streams.audio
    if len(streams) != 1:
        raise Rejected(Reason.UNREADABLE_AUDIO, f"{len(streams)} audio streams, expected one")
    (stream,) = streams
    if stream.codec_context is None or stream.codec_context.name not in CODECS:
        name = "unknown" if stream.codec_context is None else stream.codec_context.name
        raise Rejected(Reason.UNREADABLE_AUDIO, f"sound of the codec {name}, which is not read")
    return stream


def decoded_frames(container: av.container.InputContainer, stream: Any) -> Iterator[av.AudioFrame]:
    """The decoded frames; raises Rejected at a packet that is cut off."""
    import av

    decoder = stream.codec_context
    if decoder.name in PREFERRED:
        decoder = av.CodecContext.create(PREFERRED[decoder.name], "r")
    decoder.thread_count = 1
    for packet in container.demux(stream):
        if packet.is_corrupt:
            raise Rejected(Reason.TRUNCATED_AUDIO, "a packet is cut off")
        yield from decoder.decode(packet if packet.size else None)


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
        if count > max_duration_s * kind[0] + MAX_FRAME_SAMPLES or count * kind[1] * 4 > max_bytes:
            raise Rejected(Reason.UNDECODED_LENGTH, f"longer than {max_duration_s} s")
        parts.append(frame_samples(frame))
    return parts, found[0]


def _without_padding(samples: np.ndarray, *, stated_s: float, rate_hz: int) -> np.ndarray:
    """The samples up to the length that an mp4 states, if what follows is no more than a frame."""
    if math.isinf(stated_s) or len(samples) - stated_s * rate_hz > MAX_FRAME_SAMPLES:
        return samples
    return samples[: stated_samples(stated_s, rate_hz=rate_hz)]


def stated_samples(stated_s: float, *, rate_hz: int) -> int:
    """The samples up to the length that an mp4 states; those that follow in the last frame fill it up."""
    return math.ceil((stated_s + TICK_S) * rate_hz)


def frame_samples(frame: av.AudioFrame) -> np.ndarray:
    """The samples [S, channels] float32 of a decoded frame."""
    values, kind = frame.to_ndarray(), frame.format.name.removesuffix("p")
    if kind not in _FULL_SCALE:
        raise Rejected(Reason.UNREADABLE_AUDIO, f"samples of the kind {frame.format.name}, which are not read")
    rows = values.T if frame.format.is_planar else values.reshape(-1, frame.layout.nb_channels)
    if kind == "u8":
        rows = rows.astype(np.float32) - 128.0
    return np.ascontiguousarray(rows / np.float32(_FULL_SCALE[kind]), np.float32)
