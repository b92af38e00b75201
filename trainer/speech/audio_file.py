"""Writes speech to audio files, in the formats that libsndfile writes."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import soundfile

from shared.errors import UserError
from shared.files import new_file, write_bytes

# Format and encoding by suffix; the compressed ones in libsndfile's default quality.
FORMATS = {
    ".wav": ("WAV", "PCM_16"),
    ".flac": ("FLAC", "PCM_16"),
    ".ogg": ("OGG", "VORBIS"),
    ".mp3": ("MP3", "MPEG_LAYER_III"),
}


def check_suffix(path: Path) -> None:
    """Raises UserError if speech cannot be written in the format of the file's suffix."""
    if path.suffix.lower() not in FORMATS:
        raise UserError(f"{path}: speech is not written in this format; expected a file of {', '.join(FORMATS)}")


def write_audio(path: Path, blocks: Iterable[np.ndarray], *, rate_hz: int) -> int:
    """Write blocks of samples [S] to a mono file in the format of its suffix; return the number of samples.

    A block that would clip is scaled down. The file appears when the last block is written.

    Raises:
        UserError: the suffix is none of FORMATS, or the file cannot be written.
    """
    check_suffix(path)
    container, encoding = FORMATS[path.suffix.lower()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with (
            new_file(path) as file,
            soundfile.SoundFile(file, "w", rate_hz, 1, format=container, subtype=encoding) as audio,
        ):
            samples = 0
            for block in blocks:
                audio.write(block / max(1.0, float(np.abs(block).max(initial=0.0))))
                samples += len(block)
            return samples
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror})") from error


def write_array(path: Path, array: np.ndarray) -> None:
    """Write an array as .npy.

    Raises:
        UserError: the file cannot be written.
    """
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, buffer.getvalue())
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror})") from error
