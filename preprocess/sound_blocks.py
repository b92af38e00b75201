"""Reads a long recording block by block, as one channel at another rate, in bounded memory."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import soundfile
import soxr

from preprocess.audio import MAX_CHANNELS, check_peak, check_rate
from preprocess.audio_parts import (
    HEAD_BYTES,
    REMEDY,
    check_has_parts,
    check_mp4,
    is_mp3,
    translate_errors,
    without_parts,
)
from preprocess.containers import decoded_frames, find_demuxer, frame_samples, only_stream, opened_container
from preprocess.utterance import Reason, Rejected
from preprocess.watched_file import WatchedFile

if TYPE_CHECKING:
    import av

MAX_BLOCK_S, MAX_BLOCK_VALUES = 10.0, 1 << 22
MAX_DURATION_S = 24 * 3600.0
# Parts of mp3 and mp4 are found by the times of frames: between two of these may be no gap.
MAX_GAP_S = 0.02

Block = tuple[np.ndarray, int]  # samples [S, channels] float32, rate in Hz


def read_blocks(path: Path, *, rate_hz: int) -> Iterator[np.ndarray]:
    """Yield the samples of a recording, its channels averaged: [S] float32 blocks at `rate_hz`, by soxr HQ.

    Raises:
        Rejected: the file is no audio, or damaged, or its format is one without parts (`read_part`).
        OSError: the disk failed.
    """
    with path.open("rb", buffering=0) as file:
        watched = WatchedFile(file)
        with translate_errors(watched):
            yield from _resampled(_checked(_decoded(watched), file=watched), rate_hz=rate_hz)


def _resampled(blocks: Iterator[Block], *, rate_hz: int) -> Iterator[np.ndarray]:
    resampler = None
    for samples, file_rate_hz in blocks:
        if resampler is None:
            resampler = soxr.ResampleStream(file_rate_hz, rate_hz, 1, dtype="float32", quality="HQ")
        yield resampler.resample_chunk(samples.mean(axis=1, dtype=np.float32))
    if resampler is None:
        raise Rejected(Reason.EMPTY_AUDIO, "the file holds no samples")
    yield resampler.resample_chunk(np.empty(0, np.float32), last=True)


def _checked(blocks: Iterator[Block], *, file: WatchedFile) -> Iterator[Block]:
    """The blocks; raises Rejected for samples of no recording, and the error of a read that failed."""
    duration_s = 0.0
    for samples, rate_hz in blocks:
        if file.error is not None:
            raise file.error
        if len(samples):
            check_peak(samples)
        duration_s += len(samples) / rate_hz
        if duration_s > MAX_DURATION_S:
            raise Rejected(Reason.UNDECODED_LENGTH, f"longer than {MAX_DURATION_S / 3600:.0f} h")
        yield samples, rate_hz


def _decoded(file: WatchedFile) -> Iterator[Block]:
    demuxer = find_demuxer(file.read(HEAD_BYTES) or b"")
    file.seek(0)
    if demuxer is None and is_mp3(file):
        return _by_ffmpeg(file, demuxer="mp3")  # libsndfile seeks after each block, which spoils the next one
    if demuxer is None:
        return _by_libsndfile(file)
    if demuxer != "mov":
        raise without_parts(demuxer)
    check_mp4(file)
    return _by_ffmpeg(file, demuxer=demuxer)


def _by_libsndfile(file: WatchedFile) -> Iterator[Block]:
    with soundfile.SoundFile(file) as sound:
        check_has_parts(sound)
        size, count = min(round(MAX_BLOCK_S * sound.samplerate), MAX_BLOCK_VALUES // sound.channels), 0
        while len(samples := sound.read(size, dtype="float32", always_2d=True)):
            count += len(samples)
            yield samples, sound.samplerate
        if count < sound.frames:
            raise Rejected(Reason.TRUNCATED_AUDIO, f"{count} samples, its header says {sound.frames}")


def _by_ffmpeg(file: io.IOBase, *, demuxer: str) -> Iterator[Block]:
    with opened_container(file, demuxer=demuxer) as container:
        yield from _frames(container)


def _frames(container: av.container.InputContainer) -> Iterator[Block]:
    """The frames of an opened file; raises Rejected where the times of two frames do not join."""
    stream = only_stream(container)
    found, count = (0, 0), 0
    for frame in decoded_frames(container, stream):
        kind = frame.sample_rate, frame.layout.nb_channels
        if found not in ((0, 0), kind) or kind[1] > MAX_CHANNELS:
            message = f"{kind[0]} Hz and {kind[1]} channels after {found[0]} Hz and {found[1]} channels"
            raise Rejected(Reason.UNREADABLE_AUDIO, message)
        check_rate(kind[0])
        if frame.pts is not None:
            at_s = float((frame.pts - (stream.start_time or 0)) * stream.time_base)
            if abs(at_s - count / kind[0]) > MAX_GAP_S:
                message = f"its frames have {count / kind[0]:.3f} s of sound where the time is {at_s:.3f} s; {REMEDY}"
                raise Rejected(Reason.UNREADABLE_AUDIO, message)
        found, count = kind, count + frame.samples
        yield frame_samples(frame), kind[0]
