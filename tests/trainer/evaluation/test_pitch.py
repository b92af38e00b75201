"""Pitch contours of signals whose pitch is known."""

from __future__ import annotations

import numpy as np
import pytest

from trainer.evaluation.pitch import pitch_contour, pitch_difference

RATE_HZ, HOP = 22_050, 256
FRAMES = 60


def hum(pitch_hz: float, *, seconds: float = 0.8) -> np.ndarray:
    """A sound with ten harmonics."""
    time_s = np.arange(int(seconds * RATE_HZ)) / RATE_HZ
    return sum(np.sin(2 * np.pi * pitch_hz * n * time_s) / n for n in range(1, 11)) / 10


def contour(samples: np.ndarray) -> np.ndarray:
    return pitch_contour(samples, rate_hz=RATE_HZ, hop_samples=HOP, frames=FRAMES)


@pytest.mark.slow
def test_a_contour_has_the_pitch_of_the_sound_and_none_in_noise() -> None:
    assert np.nanmedian(contour(hum(120.0))) == pytest.approx(120.0, rel=0.01)
    noise = np.random.default_rng(0).normal(0, 0.1, RATE_HZ)
    assert np.isnan(contour(noise)).mean() > 0.9


def test_a_short_signal_has_all_frames() -> None:
    assert contour(hum(120.0, seconds=0.3)).shape == (FRAMES,)


def test_a_shift_is_told_in_cents_with_its_sign_along_the_alignment() -> None:
    low, high = np.full(4, 100.0), np.full(8, 100.0 * 2 ** (3 / 12))
    path = np.stack([np.arange(8) // 2, np.arange(8)], axis=1)
    found = pitch_difference(low, high, path=path)
    assert found.shift_cents == pytest.approx(-300.0)
    assert found.rms_cents == pytest.approx(300.0)
    assert found.voicing_error == 0.0


def test_frames_that_one_signal_does_not_voice_are_voicing_errors_alone() -> None:
    one, other = np.array([100.0, np.nan, 100.0, np.nan]), np.array([100.0, 100.0, 100.0, np.nan])
    path = np.stack([np.arange(4), np.arange(4)], axis=1)
    found = pitch_difference(one, other, path=path)
    assert found == (0.0, 0.0, 0.25)
    silent = pitch_difference(np.full(4, np.nan), other, path=path)
    assert np.isnan(silent.rms_cents)
    assert silent.voicing_error == 0.75
