"""`myxtts-speak say`: a prepared text, spoken into an audio file or standard output."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import Progress

from shared.errors import UserError
from trainer.checkpoint.checkpoint_files import CheckpointFile
from trainer.speech.audio_file import AudioOutput, encode_stream, write_array, write_audio
from trainer.speech.options import SpeechOptions
from trainer.speech.request import MAX_NAMED, SynthesisRequest
from trainer.speech.speech import SpokenPiece, SpokenPieces
from trainer.speech.synthesizer import Synthesizer
from trainer.speech.voice import Voice


class Arrays(NamedTuple):
    """Files for arrays beside the speech; None: not written."""

    mel: Path | None = None  # [F, M] float32 in ln magnitude, for a vocoder
    tokens: Path | None = None  # [1, T] int32, for the signature of an export
    crop: Path | None = None  # [1, C, M] float32, the mel of the voice's clip, for the signature of an export


class SynthesisResult(NamedTuple):
    """What was spoken, and how long that took."""

    duration_s: float
    rate_hz: int
    first_s: float  # until the first sentence
    all_s: float
    implausible: list[SpokenPiece]  # without samples
    checkpoint: CheckpointFile


def synthesize(
    request: SynthesisRequest,
    *,
    synthesizer: Synthesizer,
    voice: Voice | None,
    options: SpeechOptions,
    output: AudioOutput,
    arrays: Arrays = Arrays(),  # noqa: B008 (immutable)
    log: Callable[[str], object],
) -> SynthesisResult:
    """Speak a text into an audio file, or sentence by sentence to standard output.

    Args:
        log: receives a line before each long step.

    Raises:
        UserError: an option is out of range, the voice does not fit, or a file is not writable.
    """
    spoken = synthesizer.speak(request, voice=voice, options=options, log=log)
    _check_arrays(arrays, spoken=spoken, voice=voice)
    count = f"{spoken.total} sentences" if spoken.total > 1 else "a sentence"
    log(f"compiling, then speaking {count}; compilation takes minutes for a large model on CPUs")
    started_s, rate_hz = time.monotonic(), synthesizer.rate_hz
    ends_s: list[float] = []
    pieces: list[SpokenPiece] = []  # without samples, which a long text has many of

    def blocks() -> Iterator[np.ndarray]:
        for piece in _with_progress(spoken):
            ends_s.append(time.monotonic() - started_s)
            pieces.append(_without_arrays(piece, with_mel=arrays.mel is not None))
            yield piece.samples_with_pause(rate_hz)

    samples = _write(blocks(), output=output, rate_hz=rate_hz)
    _write_arrays(arrays, pieces=pieces, voice=voice)
    return SynthesisResult(
        duration_s=samples / rate_hz,
        rate_hz=rate_hz,
        first_s=ends_s[0],
        all_s=ends_s[-1],
        implausible=[piece for piece in pieces if piece.problems],
        checkpoint=synthesizer.checkpoint,
    )


def _without_arrays(piece: SpokenPiece, *, with_mel: bool) -> SpokenPiece:
    """A spoken sentence without its large arrays, for the report at the end; slices would keep the arrays in memory."""
    mel = piece.mel if with_mel else np.zeros([0, piece.mel.shape[1]], np.float32)
    none = np.zeros(0, np.float32)
    return piece._replace(mel=mel, alignment=none, samples=none)


def _write(blocks: Iterator[np.ndarray], *, output: AudioOutput, rate_hz: int) -> int:
    """Write the blocks; return the number of samples, before any resampling."""
    lengths: list[int] = []

    def counted() -> Iterator[np.ndarray]:
        for block in blocks:
            lengths.append(len(block))
            yield block

    if output.path is None:
        for data in encode_stream(counted(), name=output.format, rate_hz=rate_hz):
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
    else:
        write_audio(output.path, counted(), rate_hz=rate_hz)
    return sum(lengths)


def _check_arrays(arrays: Arrays, *, spoken: SpokenPieces, voice: Voice | None) -> None:
    if spoken.total > 1 and arrays.tokens:
        raise UserError(f"the text: {spoken.total} sentences; --tokens are of one sentence")
    if arrays.crop and voice is not None and len(voice.mels) > 1:
        raise UserError(f"voice {voice.name}: {len(voice.mels)} clips; --crop is of one clip")


def _write_arrays(arrays: Arrays, *, pieces: list[SpokenPiece], voice: Voice | None) -> None:
    if arrays.mel:
        write_array(arrays.mel, np.concatenate([piece.mel for piece in pieces]))
    if arrays.tokens:
        write_array(arrays.tokens, pieces[0].tokens[None])
    if arrays.crop:
        mel = np.zeros([0, pieces[0].mel.shape[1]], np.float32) if voice is None else voice.mels[0]
        write_array(arrays.crop, mel[None])


def _with_progress(spoken: SpokenPieces) -> Iterator[SpokenPiece]:
    """The pieces, with a bar and the time left on a terminal."""
    bar = Progress(console=Console(stderr=True), transient=True, disable=spoken.total == 1)
    with bar:
        yield from bar.track(spoken.pieces, total=spoken.total, description="sentences")


def result_lines(result: SynthesisResult, *, output: AudioOutput) -> Iterator[str]:
    """What was spoken, how fast, and which sentences are implausible, for a user."""
    yield f"{output}: {result.duration_s:.2f} s at {result.rate_hz} Hz; by {result.checkpoint}"
    yield (
        f"the first sentence took {result.first_s:.2f} s, compilation included, all {result.all_s:.2f} s: "
        f"{result.all_s / result.duration_s:.2f} of their duration"
    )
    for piece in result.implausible[:MAX_NAMED]:
        yield piece.warning
    if len(result.implausible) > MAX_NAMED:
        yield f"and {len(result.implausible) - MAX_NAMED} sentences more"
