"""Copies of a signal as corpora hold them: at another rate, or coded with losses."""

from __future__ import annotations

import io

import numpy as np
import soundfile
import soxr

from preprocess.audio import decode_audio


def through(samples: np.ndarray, *, rate_hz: int, of_hz: int = 22_050) -> np.ndarray:
    """Resample from `of_hz` to another rate and back."""
    return soxr.resample(soxr.resample(samples, of_hz, rate_hz), rate_hz, of_hz)


def as_mp3(samples: np.ndarray, *, rate_hz: int = 22_050) -> np.ndarray:
    """Encode as mp3 and decode."""
    file = io.BytesIO()
    soundfile.write(file, samples, rate_hz, format="MP3")
    return decode_audio(file.getvalue(), max_duration_s=20.0).samples
