"""Speech as the synthesizer returns it: sentences with their mels, alignments and waveforms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from trainer.speech.audio_file import write_audio


class SpokenPiece(NamedTuple):
    """A sentence, or a part of a long one, as it was spoken."""

    text: str  # prepared
    tokens: np.ndarray  # [T] int32 of the compact vocabulary
    mel: np.ndarray  # [F, M] float32 in ln magnitude
    alignment: np.ndarray  # [N, T] float32, attention of each decoder step on the text
    samples: np.ndarray  # [S] float32, without the pause
    pause_s: float  # silence that follows
    problems: tuple[str, ...] = ()  # why it may not be what the text says

    def samples_with_pause(self, rate_hz: int) -> np.ndarray:
        """The waveform [S] float32 and the silence after it."""
        return np.concatenate([self.samples, np.zeros(round(self.pause_s * rate_hz), np.float32)])

    @property
    def warning(self) -> str:
        """Why the sentence may not be what its text says, and the sentence; empty if nothing is wrong with it."""
        problems = "; ".join(self.problems)
        return f"may not be what the text says, by two seeds: {problems}: {self.text}" if problems else ""


def with_problems_logged(pieces: Iterable[SpokenPiece], *, log: Callable[[str], object]) -> Iterator[SpokenPiece]:
    """Yield the pieces; `log` receives the warning of each that has one."""
    for piece in pieces:
        if piece.warning:
            log(piece.warning)
        yield piece


class SpokenPieces(NamedTuple):
    """The pieces of a text: their number, and the pieces as they are spoken."""

    total: int
    pieces: Iterator[SpokenPiece]


class Speech(NamedTuple):
    """A spoken text."""

    pieces: tuple[SpokenPiece, ...]
    rate_hz: int

    @property
    def samples(self) -> np.ndarray:
        """The waveform [S] float32, with the pauses."""
        return np.concatenate([one.samples_with_pause(self.rate_hz) for one in self.pieces])

    @property
    def duration_s(self) -> float:
        return len(self.samples) / self.rate_hz

    @property
    def implausible(self) -> list[SpokenPiece]:
        """The pieces that may not be what the text says."""
        return [one for one in self.pieces if one.problems]

    def write(self, path: Path | str) -> None:
        """Write the speech as wav, flac, ogg, opus or mp3, by the suffix.

        Raises:
            UserError: the suffix is none of these, or the file cannot be written.
        """
        blocks = (one.samples_with_pause(self.rate_hz) for one in self.pieces)
        write_audio(Path(path), blocks, rate_hz=self.rate_hz)
