"""Pitch and energy of frames, against tones of known pitch, librosa's pYIN and librosa's transform."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import librosa
import numpy as np
import pytest

from preprocess.mel import frame_energy
from preprocess.pitch import check_pyworld, frame_pitch
from shared.errors import UserError
from shared.features import PRESETS, FeatureSpec, preset
from shared.mel_config import MelConfig, feature_spec

METHODS = ["dio", "harvest"]
every_preset = pytest.mark.parametrize("spec", PRESETS.values(), ids=list(PRESETS))
every_method = pytest.mark.parametrize("method", METHODS)


def middles_s(frames: int, *, spec: FeatureSpec) -> np.ndarray:
    """The time in the middle of each frame, [F]: half a window after its first sample, less the padding."""
    starts = np.arange(frames) * spec.hop_samples - spec.pad_samples
    return (starts + spec.n_fft / 2) / spec.sample_rate_hz


def voice(pitch_hz: np.ndarray, *, rate_hz: int) -> np.ndarray:
    """Up to twelve harmonics, each weaker than the one before, of a pitch [S] in Hz."""
    phase = 2 * np.pi * np.cumsum(pitch_hz) / rate_hz
    orders = [order for order in range(1, 13) if order * pitch_hz.max() < rate_hz / 2]
    return sum(0.3 / order * np.sin(order * phase) for order in orders).astype(np.float32)


@every_preset
@every_method
def test_a_gliding_voice_has_the_pitch_of_the_middle_of_each_frame(spec: FeatureSpec, method: str) -> None:
    rate_hz = spec.sample_rate_hz
    times_s = np.arange(rate_hz) / rate_hz
    contour_hz = 110 * 3**times_s  # from 110 to 330 Hz in a second: 1.3 % a frame
    found = frame_pitch(voice(contour_hz, rate_hz=rate_hz), spec=spec, method=method)
    assert found.dtype == np.float32
    assert len(found) == spec.num_frames(rate_hz)
    expected = 110 * 3 ** middles_s(len(found), spec=spec)
    inner = slice(2, -2)
    assert (found[inner] > 0).all()
    # a contour that is late or early by a quarter of a frame is 0.3 % off
    assert abs(np.median(found[inner] / expected[inner]) - 1) < 0.003
    np.testing.assert_allclose(found[inner], expected[inner], rtol=0.03)


@every_method
def test_a_voice_of_a_tenth_of_a_second_is_found(method: str) -> None:
    spec = preset("hifigan-22k")
    samples = voice(np.full(spec.sample_rate_hz // 10, 200.0), rate_hz=spec.sample_rate_hz)
    found = frame_pitch(samples, spec=spec, method=method)
    assert (found > 0).mean() > 0.7
    np.testing.assert_allclose(found[found > 0], 200, rtol=0.05)


@every_method
def test_a_high_voice_at_a_low_rate_is_found(method: str) -> None:
    own = MelConfig(sample_rate_hz=8000, n_fft=400, hop_samples=80, n_mels=40, fmax_hz=4000)
    spec = feature_spec("hifigan-22k", mel=own)
    found = frame_pitch(voice(np.full(8000, 720.0), rate_hz=8000), spec=spec, method=method)
    np.testing.assert_allclose(found[5:-5], 720, rtol=0.03)


@every_method
def test_pauses_have_no_pitch(method: str) -> None:
    spec = preset("hifigan-22k")
    half = spec.sample_rate_hz // 2
    samples = voice(np.full(half, 180.0), rate_hz=spec.sample_rate_hz)
    found = frame_pitch(np.concatenate([samples, np.zeros(half, np.float32)]), spec=spec, method=method)
    times_s = middles_s(len(found), spec=spec)
    assert (found[times_s > 0.55] == 0).all()
    np.testing.assert_allclose(found[(times_s > 0.05) & (times_s < 0.45)], 180, rtol=0.01)


@every_preset
@every_method
@pytest.mark.parametrize("extra", [0, 1, 255])
def test_the_shortest_signals_have_a_value_for_each_frame(spec: FeatureSpec, method: str, extra: int) -> None:
    samples = np.random.default_rng(1).normal(0, 0.1, spec.min_samples + extra).astype(np.float32)
    found = frame_pitch(samples, spec=spec, method=method)
    assert len(found) == spec.num_frames(len(samples))
    assert np.isfinite(found).all()
    silent = frame_pitch(np.zeros_like(samples), spec=spec, method=method)
    np.testing.assert_array_equal(silent, np.zeros(len(found)))


@every_method
def test_real_speech_has_nearly_the_pitch_that_pyin_finds(method: str, reference: Path) -> None:
    spec = preset("hifigan-22k")
    arrays = np.load(reference / "golden/mel_hifigan_22k/LJ001-0002.npz")
    samples = arrays["audio_int16"] / np.float32(32768)
    found = frame_pitch(samples, spec=spec, method=method)
    centred = np.pad(samples, (0, spec.hop_samples))[spec.hop_samples // 2 :]  # pYIN's frame 0 is the first sample
    theirs, _, _ = librosa.pyin(
        centred, fmin=65, fmax=800, sr=spec.sample_rate_hz, frame_length=1024, hop_length=spec.hop_samples
    )
    theirs = np.nan_to_num(theirs[: len(found)])
    both = (found > 0) & (theirs > 0)
    cents = 1200 * np.log2(found[both] / theirs[both])
    voicing = ((found > 0) == (theirs > 0)).mean()
    print(f"{method}: {np.median(np.abs(cents)):.1f} cents apart in the median, voicing the same in {voicing:.0%}")
    assert np.median(np.abs(cents)) < 20
    assert voicing > 0.8


@every_method
def test_the_same_signal_has_the_same_pitch_bit_for_bit(method: str) -> None:
    spec = preset("hifigan-22k")
    samples = np.random.default_rng(2).normal(0, 0.1, 30_000).astype(np.float32)
    first, second = (frame_pitch(samples, spec=spec, method=method) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@every_preset
def test_energy_is_the_norm_of_librosas_spectrum(spec: FeatureSpec) -> None:
    samples = np.random.default_rng(3).normal(0, 0.1, 40_000).astype(np.float32)
    padded = np.pad(samples, spec.pad_samples, mode="reflect")
    spectrum = librosa.stft(padded, n_fft=spec.n_fft, hop_length=spec.hop_samples, center=False)
    energy = frame_energy(samples, spec=spec)
    assert energy.dtype == np.float32
    np.testing.assert_allclose(energy, np.linalg.norm(np.abs(spectrum), axis=0), rtol=1e-4)


def test_without_pyworld_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    check_pyworld()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pitch is found by pyworld, .* pip install 'myxtts\[pitch\]'"):
        check_pyworld()
