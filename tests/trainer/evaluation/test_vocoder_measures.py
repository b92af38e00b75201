"""Measures of vocoders, of sounds whose differences are known."""

from __future__ import annotations

import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from preprocess.mel import log_mel
from shared.features import preset
from tests.trainer.evaluation.test_pitch import RATE_HZ, hum
from trainer.evaluation.vocoder_measures import (
    FLOOR,
    VocoderMeasures,
    compare_with_recording,
    pesq_of,
    stft_distances,
    stoi_of,
)

SPEC = preset("hifigan-22k")


def speech(pitch_hz: float = 120.0, *, noise: float = 0.01) -> np.ndarray:
    """A hum with enough noise that no magnitude is at the floor."""
    sound = hum(pitch_hz)
    return (0.3 * sound + np.random.default_rng(0).normal(0.0, noise, len(sound))).astype(np.float32)


def compared(samples: np.ndarray, recording: np.ndarray) -> VocoderMeasures:
    mels = log_mel(samples, spec=SPEC), log_mel(recording, spec=SPEC)
    return compare_with_recording(samples, recording, mels=mels, spec=SPEC)


def test_a_sound_is_at_no_distance_from_itself() -> None:
    found = compared(speech(), speech())
    assert found[:6] == (0.0,) * 6


def test_twice_the_amplitude_is_six_decibels_and_no_other_pitch() -> None:
    """|2X − X| / |X| = 1; ln 2; 20 log10 2."""
    found = compared(2.0 * speech(), speech())
    assert found.spectral_convergence == pytest.approx(1.0, rel=1e-4)
    assert found.log_magnitude_distance == pytest.approx(math.log(2.0), rel=1e-3)
    assert found.mel_distance_db == pytest.approx(20.0 * math.log10(2.0), rel=1e-3)
    assert found.f0_rms_cents == pytest.approx(0.0, abs=1.0)
    assert (found.voicing_error, found.periodicity_rms) == pytest.approx((0.0, 0.0), abs=0.01)


def test_another_pitch_is_told_in_cents() -> None:
    assert compared(speech(120.0 * 2 ** (1 / 12)), speech()).f0_rms_cents == pytest.approx(100.0, abs=10.0)


def test_a_voiceless_sound_has_voicing_errors_and_another_periodicity() -> None:
    noise = np.random.default_rng(1).normal(0.0, 0.1, len(speech())).astype(np.float32)
    found = compared(noise, speech())
    assert found.voicing_error > 0.8
    assert found.periodicity_rms > 0.05


def test_spectral_convergence_is_that_of_a_plain_transform() -> None:
    """By numpy: frames of a signal that is padded on both sides, under a periodic Hann window."""
    one, other = speech(noise=0.05), speech(200.0, noise=0.05)
    found = []
    for n_fft, hop, size in ((1024, 120, 600), (2048, 240, 1200), (512, 50, 240)):
        window = np.zeros(n_fft)
        first = (n_fft - size) // 2
        window[first : first + size] = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)
        spectra = []
        for y in (one, other):
            padded = np.pad(y.astype(np.float64), n_fft // 2)
            frames = np.lib.stride_tricks.sliding_window_view(padded, n_fft)[::hop]
            spectra.append(np.maximum(np.abs(np.fft.rfft(frames * window)), FLOOR))
        ratio = np.linalg.norm(spectra[0] - spectra[1]) / np.linalg.norm(spectra[1])
        found.append((ratio, np.abs(np.log(spectra[0]) - np.log(spectra[1])).mean()))
    assert stft_distances(one, other) == pytest.approx(tuple(np.mean(found, axis=0)), rel=1e-3)


def test_optional_packages_are_asked_at_their_rates_and_are_nan_where_they_are_absent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda asked, **_: None)
    assert math.isnan(pesq_of(speech(), speech(), rate_hz=RATE_HZ))
    assert math.isnan(stoi_of(speech(), speech(), rate_hz=RATE_HZ))
    asked = {}

    def pesq(rate_hz: int, recording: np.ndarray, samples: np.ndarray, mode: str) -> float:
        asked.update(rate_hz=rate_hz, seconds=len(recording) / rate_hz, mode=mode)
        return 3.5

    package = SimpleNamespace(pesq=pesq, NoUtterancesError=KeyError, BufferTooShortError=KeyError)
    monkeypatch.setattr("importlib.util.find_spec", lambda asked, **_: object())
    monkeypatch.setitem(sys.modules, "pesq", package)
    assert pesq_of(speech(), speech(), rate_hz=RATE_HZ) == 3.5
    assert math.isnan(pesq_of(np.zeros_like(speech()), speech(), rate_hz=RATE_HZ))  # the package fails on silence
    assert asked == {"rate_hz": 16_000, "seconds": pytest.approx(0.8, abs=0.01), "mode": "wb"}
