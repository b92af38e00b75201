"""The mel cepstral distance, compared with its definition."""

from __future__ import annotations

import numpy as np
import pytest

from trainer.evaluation.cepstra import COEFFICIENTS, cepstral_distances_db, mel_cepstra

BANDS = 80
ANGLES = np.pi * (np.arange(BANDS) + 0.5) / BANDS


def test_coefficients_are_the_amplitudes_of_cosines_over_the_bands() -> None:
    amplitudes = np.random.default_rng(0).normal(0, 1, 1 + COEFFICIENTS)
    mel = sum(amplitude * np.cos(number * ANGLES) for number, amplitude in enumerate(amplitudes))
    np.testing.assert_allclose(mel_cepstra(np.array([mel]))[0], amplitudes[1:], atol=1e-5)


def test_the_distance_is_the_rms_difference_of_the_envelopes_in_db() -> None:
    """The root of the mean square over all bands of a smooth difference, by definition of a decibel."""
    random = np.random.default_rng(0)
    mel = random.normal(-5, 1, (3, BANDS))
    difference = 0.4 * np.cos(2 * ANGLES) - 0.3 * np.cos(9 * ANGLES)
    rms_db = 20 / np.log(10) * np.sqrt(np.mean(np.square(difference)))
    found = np.diag(cepstral_distances_db(mel + difference, mel))
    np.testing.assert_allclose(found, rms_db, rtol=1e-3)


def test_level_and_fine_structure_count_for_nothing() -> None:
    mel = np.random.default_rng(0).normal(-5, 1, (3, BANDS))
    assert np.diag(cepstral_distances_db(mel + 1.0, mel)) == pytest.approx(0.0, abs=0.01)
    assert np.diag(cepstral_distances_db(mel + np.cos(30 * ANGLES), mel)) == pytest.approx(0.0, abs=0.01)
