"""Pitch: fundamental frequency and voicing, and how far those of two signals are apart.

The pitch is estimated by pYIN (Mauch & Dixon, 2014), librosa's implementation.
"""

from __future__ import annotations

from typing import NamedTuple

import librosa
import numpy as np

MIN_PITCH_HZ, MAX_PITCH_HZ = 60.0, 500.0
FRAME_S = 0.05  # of the analysis, three periods of the lowest pitch


class PitchDifference(NamedTuple):
    """How far two aligned pitch contours are apart; nan where no aligned frame is voiced in both."""

    rms_cents: float  # of the frames that are voiced in both
    shift_cents: float  # their median, positive where the first one is higher
    voicing_error: float  # share of aligned frames that are voiced in one of them only


class PitchTrack(NamedTuple):
    """The pitch of a signal, frame by frame."""

    pitch_hz: np.ndarray  # [F] fundamental frequency; nan where the signal is unvoiced
    voiced_probability: np.ndarray  # [F]


def pitch_contour(samples: np.ndarray, *, rate_hz: int, hop_samples: int, frames: int) -> np.ndarray:
    """The fundamental frequency [frames] in Hz of a signal [S]; nan where it is unvoiced."""
    return pitch_track(samples, rate_hz=rate_hz, hop_samples=hop_samples, frames=frames).pitch_hz


def pitch_track(samples: np.ndarray, *, rate_hz: int, hop_samples: int, frames: int) -> PitchTrack:
    """The pitch of a signal [S] in so many frames."""
    size = max(1 << round(np.log2(FRAME_S * rate_hz)), hop_samples)
    padded = np.pad(samples.astype(np.float32), (0, max(0, frames * hop_samples - len(samples))))
    pitch_hz, _, probability = librosa.pyin(
        padded, fmin=MIN_PITCH_HZ, fmax=MAX_PITCH_HZ, sr=rate_hz, frame_length=size, hop_length=hop_samples
    )
    return PitchTrack(pitch_hz[:frames], probability[:frames])


def pitch_difference(one: np.ndarray, other: np.ndarray, *, path: np.ndarray) -> PitchDifference:
    """Compare pitch contours [F] and [G] in Hz along an alignment [K, 2]."""
    first, second = one[path[:, 0]], other[path[:, 1]]
    is_voiced, is_other_voiced = np.isfinite(first), np.isfinite(second)
    both = is_voiced & is_other_voiced
    voicing_error = float((is_voiced != is_other_voiced).mean())
    if not both.any():
        return PitchDifference(np.nan, np.nan, voicing_error)
    cents = 1200.0 * np.log2(first[both] / second[both])
    return PitchDifference(float(np.sqrt(np.square(cents).mean())), float(np.median(cents)), voicing_error)
