"""Encodes speech for files and streams, in the formats that libsndfile writes."""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import soundfile
import soxr

from shared.errors import UserError, writing
from shared.files import new_file, write_bytes


class AudioFormat(NamedTuple):
    """A format of libsndfile, by default in its own quality."""

    container: str
    encoding: str
    media_type: str
    rate_hz: int | None = None  # to which speech is resampled; None: the model's rate
    bitrate_mode: str | None = None
    compression: float | None = None  # from 0, the best sound, to 1


FORMATS = {
    "wav": AudioFormat("WAV", "PCM_16", "audio/wav"),
    "flac": AudioFormat("FLAC", "PCM_16", "audio/flac"),
    "ogg": AudioFormat("OGG", "VORBIS", "audio/ogg"),
    "opus": AudioFormat("OGG", "OPUS", "audio/ogg", 24_000),  # Opus has no 22,050 Hz
    # a constant bit rate tells how long a stream is, which has no header that says it
    "mp3": AudioFormat("MP3", "MPEG_LAYER_III", "audio/mpeg", bitrate_mode="CONSTANT", compression=0.5),
}
# samples alone, little-endian, at the rate that OpenAI's API has for them
PCM = AudioFormat("RAW", "PCM_16", "audio/pcm", 24_000)
STREAM_FORMATS = FORMATS | {"pcm": PCM}
UNKNOWN_BYTES = 0xFFFFFFFF  # the size of a stream in the header of a wav


class AudioOutput(NamedTuple):
    """Where speech goes, and in which of STREAM_FORMATS."""

    path: Path | None  # None: standard output
    format: str

    def __str__(self) -> str:
        return "standard output" if self.path is None else str(self.path)


def output_of(out: str, *, stream_format: str | None = None) -> AudioOutput:
    """The output that a user names: a path, or "-" for standard output in a format, which is wav unless given.

    Raises:
        UserError: speech is not written in the format, or no file can be written there.
    """
    if out == "-":
        name = stream_format or "wav"
        if name not in STREAM_FORMATS:
            raise UserError(f"format {name}: not one of {', '.join(STREAM_FORMATS)}")
        return AudioOutput(None, name)
    if stream_format is not None:
        raise UserError(f"--format is of standard output; the format of {out} is that of its suffix")
    path = Path(out)
    if path.is_dir():
        raise UserError(f"{path}: a directory; expected a file of .{', .'.join(FORMATS)}")
    output = AudioOutput(path, _format_of(path))
    folder = next(one for one in path.absolute().parents if one.exists())
    if not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
        reason = "Permission denied" if folder.is_dir() else "Not a directory"
        raise UserError(f"{path}: cannot be written ({folder}: {reason})")
    return output


def check_format(name: str) -> None:
    """Raises UserError if files are not written in a format."""
    if name not in FORMATS:
        raise UserError(f"format {name}: not one of {', '.join(FORMATS)}")


def _format_of(path: Path) -> str:
    name = path.suffix.lower().removeprefix(".")
    if name not in FORMATS:
        raise UserError(f"{path}: speech is not written in this format; expected a file of .{', .'.join(FORMATS)}")
    return name


def write_audio(path: Path, blocks: Iterable[np.ndarray], *, rate_hz: int) -> None:
    """Write blocks of samples [S] to a mono file in the format of its suffix.

    A block that would clip is scaled down. The file appears when the last block is written.

    Raises:
        UserError: the suffix is none of FORMATS, or the file cannot be written.
    """
    form = FORMATS[_format_of(path)]
    file_rate_hz = form.rate_hz or rate_hz
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with new_file(path) as file, _open(file, form, rate_hz=file_rate_hz) as audio:
            for block in _resampled(blocks, rate_hz=rate_hz, to_hz=file_rate_hz):
                audio.write(block)


def encode_wav(samples: np.ndarray, *, rate_hz: int) -> bytes:
    """A mono wav of samples [S], whose header tells their number."""
    buffer = io.BytesIO()
    with _open(buffer, FORMATS["wav"], rate_hz=rate_hz) as audio:
        audio.write(_unclipped(samples))
    return buffer.getvalue()


def encode_stream(blocks: Iterable[np.ndarray], *, name: str, rate_hz: int) -> Generator[bytes, None, None]:
    """Encode blocks of samples [S], one of STREAM_FORMATS, while they are made.

    Compressing encoders keep up to a frame of samples back until the next block. The length of a stream is unknown, so
    the headers of wav and flac do not tell it.
    """
    form = STREAM_FORMATS[name]
    stream_rate_hz = form.rate_hz or rate_hz
    sink = _Sink()
    if name == "wav":
        sink.write(_wav_header(stream_rate_hz))
        form = PCM
    with _open(sink, form, rate_hz=stream_rate_hz) as audio:
        for block in _resampled(blocks, rate_hz=rate_hz, to_hz=stream_rate_hz):
            audio.write(block)
            if data := sink.take():
                yield data
    if data := sink.take():
        yield data


def _open(file: BinaryIO | io.RawIOBase, form: AudioFormat, *, rate_hz: int) -> soundfile.SoundFile:
    endian = "LITTLE" if form.container == "RAW" else "FILE"
    return soundfile.SoundFile(
        file,
        "w",
        samplerate=rate_hz,
        channels=1,
        format=form.container,
        subtype=form.encoding,
        endian=endian,
        bitrate_mode=form.bitrate_mode,
        compression_level=form.compression,
    )


def _resampled(blocks: Iterable[np.ndarray], *, rate_hz: int, to_hz: int) -> Iterator[np.ndarray]:
    """Resample blocks to another rate, and scale down each block that would clip."""
    if rate_hz == to_hz:
        yield from map(_unclipped, blocks)
        return
    resampler = soxr.ResampleStream(rate_hz, to_hz, 1, dtype="float32")
    for block in blocks:
        yield _unclipped(resampler.resample_chunk(block.astype(np.float32)))
    yield _unclipped(resampler.resample_chunk(np.zeros(0, np.float32), last=True))


def _unclipped(block: np.ndarray) -> np.ndarray:
    return block / max(1.0, float(np.abs(block).max(initial=0.0)))


def _wav_header(rate_hz: int) -> bytes:
    """The header of a mono wav of 16 bits whose length is unknown."""
    layout = struct.pack("<IHHIIHH", 16, 1, 1, rate_hz, 2 * rate_hz, 2, 16)
    unknown = struct.pack("<I", UNKNOWN_BYTES)
    return b"RIFF" + unknown + b"WAVEfmt " + layout + b"data" + unknown


class _Sink(io.RawIOBase):
    """A file whose bytes are taken away as they come. Later changes to bytes that were taken are dropped."""

    def __init__(self) -> None:
        self._pending, self._taken, self._position = bytearray(), 0, 0

    def take(self) -> bytes:
        """The bytes since the last call."""
        data = bytes(self._pending)
        self._taken += len(data)
        self._pending.clear()
        return data

    def write(self, data: bytes) -> int:  # type: ignore[override]
        data, start = bytes(data), self._position - self._taken
        fresh = data[max(0, -start) :]
        if fresh:
            self._pending[max(0, start) : max(0, start) + len(fresh)] = fresh
        self._position += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        starts = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._taken + len(self._pending)}
        self._position = starts[whence] + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: object) -> int:
        return 0


def write_array(path: Path, array: np.ndarray) -> None:
    """Write an array as .npy.

    Raises:
        UserError: the file cannot be written.
    """
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, buffer.getvalue())
