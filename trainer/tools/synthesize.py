"""`myxtts-train synthesize`: a prepared request and a run's checkpoint to an audio file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import Progress

from shared.errors import UserError
from trainer.checkpoint.checkpoint import CheckpointFile
from trainer.config.speech_bounds import MAX_SPEECH_S
from trainer.speech.audio_file import check_suffix, write_array, write_audio
from trainer.speech.generation import Sampling
from trainer.speech.request import MAX_NAMED, PreparedRequest
from trainer.speech.synthesizer import SpokenPiece, SpokenPieces, Synthesizer, check_duration


class Arrays(NamedTuple):
    """Files for arrays beside the speech; None: not written."""

    mel: Path | None = None  # [F, M] float32 in ln magnitude, for a vocoder
    tokens: Path | None = None  # [1, T] int32, for the signature of an export
    crop: Path | None = None  # [1, C, M] float32, the used part of the reference, for the signature of an export


class SynthesisResult(NamedTuple):
    """What was written."""

    duration_s: float
    rate_hz: int
    cut_off: list[str]  # the texts of pieces whose end was not predicted
    checkpoint: CheckpointFile


def synthesize_file(
    request: PreparedRequest,
    *,
    run: Path,
    out: Path,
    tokenizer: str | None,
    sampling: Sampling,
    max_sentence_s: float,
    checkpoint: str | None = None,
    arrays: Arrays = Arrays(),  # noqa: B008 (immutable)
    log: Callable[[str], object],
) -> SynthesisResult:
    """Speak a request into an audio file, mono, in the format of its suffix.

    Args:
        checkpoint: "best", "last" or a step; None is the best if there is one, and else the last.
        log: receives a line before each long step.

    Raises:
        UserError: there is no trained run or no such checkpoint, the text or reference is unusable, or a file is not
            writable.
    """
    check_suffix(out)
    check_duration(max_sentence_s)
    synthesizer = Synthesizer.load(run, checkpoint=checkpoint, tokenizer=tokenizer)
    spoken = synthesizer.speak(request, sampling=sampling, max_sentence_s=max_sentence_s, log=log)
    if spoken.total > 1 and (arrays.tokens or arrays.crop):
        raise UserError(f"the text: {spoken.total} sentences; --tokens and --crop are of one sentence")
    count = f"{spoken.total} sentences" if spoken.total > 1 else "a sentence"
    log(f"compiling, then speaking {count}; compilation takes minutes for a large model on CPUs")
    started_s, ends_s, rate_hz = time.monotonic(), [], synthesizer.rate_hz
    cut_off: list[str] = []
    mels: list[np.ndarray] = []

    def blocks() -> Iterator[np.ndarray]:
        for piece in _with_progress(spoken):
            ends_s.append(time.monotonic() - started_s)
            cut_off.extend([] if piece.has_ended else [piece.text])
            _write_arrays(piece, arrays=arrays)
            mels.extend([piece.mel] if arrays.mel else [])
            yield piece.samples_with_pause(rate_hz)

    samples = write_audio(out, blocks(), rate_hz=rate_hz)
    if arrays.mel:
        write_array(arrays.mel, np.concatenate(mels))
    log(f"the first sentence took {ends_s[0]:.1f} s, compilation included; all took {ends_s[-1]:.1f} s")
    return SynthesisResult(samples / rate_hz, rate_hz, cut_off, synthesizer.checkpoint)


def _write_arrays(piece: SpokenPiece, *, arrays: Arrays) -> None:
    for path, array in ((arrays.tokens, piece.tokens), (arrays.crop, piece.crop)):
        if path is not None:
            write_array(path, array[None])


def _with_progress(spoken: SpokenPieces) -> Iterator[SpokenPiece]:
    """The pieces, with a bar and the time left on a terminal."""
    bar = Progress(console=Console(stderr=True), transient=True, disable=spoken.total == 1)
    with bar:
        yield from bar.track(spoken.pieces, total=spoken.total, description="sentences")


def result_lines(result: SynthesisResult, *, out: Path, max_sentence_s: float) -> Iterator[str]:
    """What was written, and which sentences were cut off, for a user."""
    ending = f"{len(result.cut_off)} sentences cut off" if result.cut_off else "ended by itself"
    yield f"{out}: {result.duration_s:.2f} s at {result.rate_hz} Hz, {ending}; by {result.checkpoint}"
    more = "; --seconds allows more" if max_sentence_s < MAX_SPEECH_S else ""
    for text in result.cut_off[:MAX_NAMED]:
        yield f"cut off at {max_sentence_s:g} s, no end was predicted{more}: {text}"
