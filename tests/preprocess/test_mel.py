"""The mel against arrays that the vocoders' own code made; tolerances are those of ../shared/golden/README.md."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.signal

from preprocess.mel import frames, log_mel, magnitudes
from shared.features import PRESETS, FeatureSpec, mel_filterbank, preset, window

HIFIGAN = preset("hifigan-22k")
CLIPS = ["LJ001-0001", "LJ001-0002", "LJ001-0008", "LJ001-0016"]
EDGE_CASES = [
    *("silence_4096", "impulse_mid_4096", "sine440_4096", "noise_385", "noise_511", "noise_512", "noise_513"),
    *("ramp_1000", "tiny_noise_4096", "fullscale_square_4096"),
]
every_preset = pytest.mark.parametrize("spec", PRESETS.values(), ids=list(PRESETS))


def assert_equals_reference(mel: np.ndarray, golden: np.ndarray) -> None:
    assert mel.shape == golden.shape
    assert mel.dtype == np.float32
    difference = np.abs(mel - golden)
    assert difference.max() < 3e-3
    assert difference[golden > -9].max() < 3e-4
    assert difference[golden > -6].max() < 6e-5
    # Only this bound sees a division by 32767.
    assert difference.mean() < 1e-5


@pytest.mark.parametrize("clip", CLIPS)
def test_mel_equals_hifigan_reference_on_ljspeech_clips(clip: str, reference: Path) -> None:
    arrays = np.load(reference / f"golden/mel_hifigan_22k/{clip}.npz")
    mel = log_mel(arrays["audio_int16"] / np.float32(32768), spec=HIFIGAN)
    assert_equals_reference(mel, arrays["log_mel"])


def test_the_bound_on_the_mean_detects_a_division_by_32767(reference: Path) -> None:
    arrays = np.load(reference / "golden/mel_hifigan_22k/LJ001-0002.npz")
    mel = log_mel(arrays["audio_int16"] / np.float32(32767), spec=HIFIGAN)
    assert np.abs(mel - arrays["log_mel"]).mean() > 1e-5


@pytest.mark.parametrize("clip", CLIPS)
def test_float16_keeps_the_mel_within_a_two_hundredth(clip: str, reference: Path) -> None:
    arrays = np.load(reference / f"golden/mel_hifigan_22k/{clip}.npz")
    stored = log_mel(arrays["audio_int16"] / np.float32(32768), spec=HIFIGAN).astype("<f2").astype(np.float32)
    assert np.abs(stored - arrays["log_mel"]).max() < 0.005


@pytest.mark.parametrize("case", EDGE_CASES)
def test_mel_equals_hifigan_reference_on_edge_cases(case: str, reference: Path) -> None:
    arrays = np.load(reference / "golden/mel_hifigan_22k_edge/edge_cases.npz")
    mel, golden = log_mel(arrays[f"audio__{case}"], spec=HIFIGAN), arrays[f"log_mel__{case}"]
    assert mel.shape == golden.shape
    rounding = case in ("sine440_4096", "ramp_1000")
    np.testing.assert_allclose(mel, golden, atol=3e-3 if rounding else 1e-5, rtol=0)
    loud = golden > -9
    np.testing.assert_allclose(mel[loud], golden[loud], atol=1e-3, rtol=0)


def test_the_edge_cases_are_all_of_the_reference(reference: Path) -> None:
    arrays = np.load(reference / "golden/mel_hifigan_22k_edge/edge_cases.npz")
    assert set(arrays) == {f"{kind}__{case}" for kind in ("audio", "log_mel") for case in EDGE_CASES}


@pytest.mark.parametrize("clip", ["LJ001-0002", "LJ001-0016"])
def test_mel_equals_bigvgan_reference(clip: str, reference: Path) -> None:
    arrays = np.load(reference / f"golden/mel_bigvgan_24k_100/{clip}.npz")
    assert_equals_reference(log_mel(arrays["audio_24k_float32"], spec=preset("bigvgan-24k-100")), arrays["log_mel"])


@pytest.mark.parametrize("clip", ["LJ001-0002", "LJ001-0016"])
def test_mel_equals_vocos_reference_where_float32_reaches(clip: str, reference: Path) -> None:
    audio = np.load(reference / f"golden/mel_bigvgan_24k_100/{clip}.npz")["audio_24k_float32"]
    golden = np.load(reference / f"golden/mel_vocos_24k_100/{clip}.npz")["log_mel_from_float64"]
    mel = log_mel(audio, spec=preset("vocos-24k"))
    assert mel.shape == golden.shape
    # Bands above 11 kHz are empty in this audio: below, float32 holds the rounding of its transform.
    audible = golden > -5
    assert audible.mean() > 0.2
    np.testing.assert_allclose(mel[audible], golden[audible], atol=1e-3, rtol=0)


@every_preset
def test_magnitudes_equal_those_of_a_plain_fourier_sum(spec: FeatureSpec) -> None:
    samples = np.random.default_rng(1).normal(0, 0.1, size=2000)
    padded = np.pad(samples, spec.pad_samples, mode="reflect")
    times = np.arange(spec.n_fft)
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * times / spec.n_fft)
    waves = np.exp(-2j * np.pi * np.outer(times, range(spec.n_fft // 2 + 1)) / spec.n_fft)
    starts = range(0, len(padded) - spec.n_fft + 1, spec.hop_samples)
    expected = [np.sqrt(np.abs(padded[at : at + spec.n_fft] * hann @ waves) ** 2 + spec.power_epsilon) for at in starts]
    np.testing.assert_allclose(magnitudes(frames(samples, spec=spec), spec=spec), expected, atol=1e-4)


@every_preset
@pytest.mark.parametrize("extra", [0, 1, 100])
def test_the_shortest_signals_are_reflected_sample_by_sample(spec: FeatureSpec, extra: int) -> None:
    samples = np.arange(spec.min_samples + extra, dtype=np.float32)
    pad, last = spec.pad_samples, len(samples) - 1
    reflected = [abs(at) if at <= last else 2 * last - at for at in range(-pad, len(samples) + pad)]
    expected = [reflected[at : at + spec.n_fft] for at in range(0, len(reflected) - spec.n_fft + 1, spec.hop_samples)]
    np.testing.assert_array_equal(frames(samples, spec=spec), expected)
    assert len(expected) == spec.num_frames(len(samples)) >= 1


@every_preset
def test_a_signal_too_short_for_reflect_padding_is_refused(spec: FeatureSpec) -> None:
    for samples in (0, 1, spec.min_samples - 1):
        with pytest.raises(ValueError, match=f"{samples} samples; expected {spec.min_samples} or more"):
            log_mel(np.zeros(samples, np.float32), spec=spec)


@every_preset
def test_silence_is_log_silence(spec: FeatureSpec) -> None:
    mel = log_mel(np.zeros(4096, np.float32), spec=spec)
    # hifigan's epsilon lifts the widest bands above the floor
    epsilon = np.sqrt(spec.power_epsilon) * mel_filterbank(spec).sum(axis=0)
    expected = np.log(np.maximum(epsilon, spec.floor))
    np.testing.assert_allclose(mel, np.broadcast_to(expected, mel.shape), atol=1e-4)


@every_preset
def test_the_window_is_periodic(spec: FeatureSpec) -> None:
    np.testing.assert_array_equal(window(spec), scipy.signal.windows.hann(spec.n_fft, sym=False).astype(np.float32))


def test_a_mel_does_not_depend_on_the_signals_precision_or_layout() -> None:
    samples = np.random.default_rng(2).normal(0, 0.1, size=8000).astype(np.float32)
    expected = log_mel(samples, spec=HIFIGAN)
    np.testing.assert_array_equal(log_mel(samples.astype(np.float64), spec=HIFIGAN), expected)
    np.testing.assert_array_equal(log_mel(np.stack([samples, samples], axis=1)[:, 0], spec=HIFIGAN), expected)
    assert expected.flags.c_contiguous
