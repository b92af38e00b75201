"""Recordings as vocoders are judged by: their samples and their mel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from preprocess.audio import resample
from preprocess.audio_formats import AUDIO_SUFFIXES
from preprocess.mel import log_mel
from shared.errors import UserError
from shared.features import FeatureSpec
from trainer.speech.reference import read_reference


class Recording(NamedTuple):
    """A recording at the rate of a feature spec."""

    path: Path
    samples: np.ndarray  # [S] float32
    mel: np.ndarray  # [F, M] float32 in ln magnitude


def find_recordings(paths: Sequence[Path]) -> list[Path]:
    """Return the files among `paths`, and the audio files in the folders among them, in the order of their names.

    Raises:
        UserError: there is no audio file.
    """
    found = [one for path in paths for one in (_audio_files(path) if path.is_dir() else [path])]
    if not found:
        raise UserError(f"{', '.join(map(str, paths))}: no audio file, such as .wav, .flac, .mp3 or .m4a")
    return found


def _audio_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in AUDIO_SUFFIXES)


def read_recordings(paths: Sequence[Path], *, spec: FeatureSpec) -> Iterator[Recording]:
    """Decode recordings one by one, resample them, and compute their mels.

    Raises:
        UserError: a file cannot be read or decoded, or is too short, too long or silent.
    """
    for path in paths:
        signal = resample(read_reference(path).signal, rate_hz=spec.sample_rate_hz)
        yield Recording(path, signal.samples.astype(np.float32), log_mel(signal.samples, spec=spec))


def mel_of(samples: np.ndarray, *, spec: FeatureSpec) -> np.ndarray:
    """The mel [F, M] in ln magnitude of a sound [S] at the spec's rate."""
    return log_mel(samples, spec=spec)
