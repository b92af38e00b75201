"""Reads a long recording block by block, as one channel at another rate, in bounded memory."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import soundfile
import soxr

from preprocess.audio import check_header, check_rate
from preprocess.audio_parts import REMEDY, UNSEEKABLE, WatchedFile, is_mp3
from preprocess.container_checks import check_container
from preprocess.containers import decoded_frames, demuxer_options, find_demuxer, frame_samples, only_stream
from preprocess.utterance import Reason, Rejected

BLOCK_S = 10.0
HEAD_BYTES = 1 << 16
MAX_CONTAINER_BYTES = 1 << 30


def read_blocks(path: Path, *, rate_hz: int) -> Iterator[np.ndarray]:
    """Yield the samples of a recording, its channels averaged: [S] float32 blocks at `rate_hz`, by soxr HQ.

    Raises:
        Rejected: the file is no audio, or damaged, or one of whose format no part can be read later.
        OSError: the disk failed.
    """
    with path.open("rb", buffering=0) as file:
        watched = WatchedFile(file)
        try:
            blocks = _decoded(watched)
            first, file_rate_hz = next(blocks)
            resampler = soxr.ResampleStream(file_rate_hz, rate_hz, 1, dtype="float32", quality="HQ")
            for block, _ in itertools.chain([(first, file_rate_hz)], blocks):
                yield resampler.resample_chunk(block)
            yield resampler.resample_chunk(np.empty(0, np.float32), last=True)
        except soundfile.LibsndfileError as error:
            raise watched.error or Rejected(Reason.UNREADABLE_AUDIO, f"libsndfile: {error.error_string}") from error
        except Rejected:
            if watched.error is not None:
                raise watched.error from None
            raise
        if watched.error is not None:
            raise watched.error


def _decoded(file: WatchedFile) -> Iterator[tuple[np.ndarray, int]]:
    """The samples [S] of each block, and their rate."""
    demuxer = find_demuxer(file.read(HEAD_BYTES) or b"")
    file.seek(0)
    if demuxer is None and is_mp3(file):
        return _by_ffmpeg(file, demuxer="mp3")  # libsndfile seeks after each block, which spoils the next one
    if demuxer is None:
        return _by_libsndfile(file)
    if demuxer != "mov":
        raise Rejected(Reason.UNREADABLE_AUDIO, f"no part of a recording in this format can be read; {REMEDY}")
    return _by_ffmpeg(io.BytesIO(_content(file, demuxer=demuxer)), demuxer=demuxer)


def _content(file: WatchedFile, *, demuxer: str) -> bytes:
    """All bytes of a file; raises Rejected if they are too many, or state what FFmpeg must not believe."""
    data = file.read(MAX_CONTAINER_BYTES + 1) or b""
    if len(data) > MAX_CONTAINER_BYTES:
        raise Rejected(Reason.UNDECODED_LENGTH, f"over {MAX_CONTAINER_BYTES} bytes; {REMEDY}")
    check_container(data, demuxer=demuxer)
    return data


def _by_libsndfile(file: WatchedFile) -> Iterator[tuple[np.ndarray, int]]:
    with soundfile.SoundFile(file) as sound:
        check_header(sound)
        if not sound.seekable() or sound.subtype.startswith(UNSEEKABLE):
            raise Rejected(
                Reason.UNREADABLE_AUDIO, f"no part of {sound.format} with {sound.subtype} can be read; {REMEDY}"
            )
        count, stated = 0, sound.frames
        for block in sound.blocks(round(BLOCK_S * sound.samplerate), dtype="float32", always_2d=True):
            count += len(block)
            yield block.mean(axis=1, dtype=np.float32), sound.samplerate
        if count == 0:
            raise Rejected(Reason.EMPTY_AUDIO, "the file holds no samples")
        if count < stated:
            raise Rejected(Reason.TRUNCATED_AUDIO, f"{count} samples, its header says {stated}")


def _by_ffmpeg(file: io.IOBase, *, demuxer: str) -> Iterator[tuple[np.ndarray, int]]:
    try:
        import av
    except ImportError:
        message = f"{'mp3' if demuxer == 'mp3' else 'm4a or mp4'}: FFmpeg reads it: pip install 'myxtts[formats]'"
        raise Rejected(Reason.UNREADABLE_AUDIO, message) from None
    options = demuxer_options(demuxer)
    try:
        with av.open(file, "r", format=demuxer, options=options, metadata_errors="replace") as container:
            stream, rate_hz = only_stream(container), 0
            for frame in decoded_frames(container, stream):
                if rate_hz not in (0, frame.sample_rate):
                    raise Rejected(Reason.UNREADABLE_AUDIO, f"{frame.sample_rate} Hz after {rate_hz} Hz")
                rate_hz = frame.sample_rate
                check_rate(rate_hz)
                yield frame_samples(frame).mean(axis=1, dtype=np.float32), rate_hz
    except (av.FFmpegError, EOFError, ValueError) as error:
        raise Rejected(Reason.UNREADABLE_AUDIO, f"FFmpeg: {' '.join(str(error).split())[:200]}") from error
    if rate_hz == 0:
        raise Rejected(Reason.EMPTY_AUDIO, "the file holds no samples")
