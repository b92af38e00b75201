"""Reference clips: recordings of a voice, decoded; needs no TensorFlow, so that a mistake is found at once."""

from __future__ import annotations

import io
from pathlib import Path
from typing import NamedTuple

import numpy as np
import soundfile

from preprocess.audio import Signal, decode_audio
from preprocess.audio_file import read_audio_file
from preprocess.utterance import Rejected
from shared.errors import UserError
from trainer.config.speech_bounds import MAX_REFERENCE_S, MAX_REFERENCE_VALUES, MIN_REFERENCE_DB, MIN_REFERENCE_S


class Reference(NamedTuple):
    """A clip of a voice, decoded."""

    name: str  # of the file, for messages
    signal: Signal


def read_reference(path: Path) -> Reference:
    """Decode a clip of a voice, of any format that datasets are built from.

    Raises:
        UserError: the file cannot be read or decoded, or is too short, too long, or silent.
    """
    try:
        return decode_reference(read_audio_file(str(path)), name=str(path))
    except (Rejected, ValueError) as error:
        raise UserError(f"reference {path}: {error}; expected a clip of a voice, some seconds long") from error


def decode_reference(data: bytes, *, name: str, max_duration_s: float = MAX_REFERENCE_S) -> Reference:
    """Decode a clip of a voice.

    Raises:
        UserError: the bytes are no audio, or the clip is too short, too long, or silent.
    """
    try:
        _check_size(data, name=name)
        signal = decode_audio(data, max_duration_s=max_duration_s)
    except (Rejected, ValueError) as error:
        raise UserError(f"reference {name}: {error}; expected a clip of a voice, some seconds long") from error
    if signal.duration_s < MIN_REFERENCE_S:
        raise UserError(f"reference {name}: {signal.duration_s:.2f} s; expected a clip of a voice, some seconds long")
    if np.abs(signal.samples).max(initial=0.0) < 10 ** (MIN_REFERENCE_DB / 20):
        raise UserError(f"reference {name}: silence; expected a clip of a voice, some seconds long")
    return Reference(name, signal)


def _check_size(data: bytes, *, name: str) -> None:
    """Raises UserError if a small file says that it holds more than memory should; other faults are found later."""
    try:
        info = soundfile.info(io.BytesIO(data))
    except soundfile.SoundFileError:
        return
    if info.frames * info.channels > MAX_REFERENCE_VALUES:
        raise UserError(
            f"reference {name}: {info.frames:,} samples of {info.channels} channels, expected at most "
            f"{MAX_REFERENCE_VALUES:,} values; expected a clip of a voice, some seconds long"
        )
