"""The frequency warp: a warped mel is that of the sound whose frequencies are multiplied."""

from __future__ import annotations

from types import SimpleNamespace

import librosa
import numpy as np
import pytest
import tensorflow as tf

from shared.features import PRESETS, FeatureSpec, band_edges_hz, preset
from trainer.config.model_config import ModelConfig
from trainer.model.frequency_warp import FACTORS, FrequencyWarp, warp_matrix, warp_mels
from trainer.model.rng import RngStream
from trainer.speech.recording import mel_of
from trainer.training.train_step import StepInputs, prepare_inputs

SPEC = preset("hifigan-22k")


def vowel(spec: FeatureSpec, *, factor: float) -> np.ndarray:
    """The mel [F, M] of a vowel whose pitch and resonances are multiplied by a factor."""
    times, harmonics = np.arange(spec.sample_rate_hz // 2) / spec.sample_rate_hz, np.arange(1, 40)
    resonances_hz, pitch_hz = np.array([700.0, 1200.0, 2600.0]), 150.0
    amplitudes = (1.0 / (1.0 + (np.abs(harmonics[:, None] * pitch_hz - resonances_hz) / 120.0) ** 2)).sum(1)
    waves = np.sin(2.0 * np.pi * factor * pitch_hz * harmonics[:, None] * times)
    return mel_of((0.05 * (amplitudes[:, None] * waves).sum(0)).astype(np.float32), spec=spec)


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("factor", [0.85, 1.15])
def test_a_warped_mel_is_that_of_the_sound_with_multiplied_frequencies(name: str, factor: float) -> None:
    spec = preset(name)
    middle = slice(10, 30)
    plain, expected = vowel(spec, factor=1.0)[middle], vowel(spec, factor=factor)[middle]
    # above the last harmonic of the deeper sound, one has sound and the other has none
    voiced = band_edges_hz(spec)[1:-1] < 0.85 * 39 * 150.0 * min(1.0, factor)
    found = (plain @ warp_matrix(spec, factor=factor))[:, voiced]
    unwarped = np.abs(plain[:, voiced] - expected[:, voiced]).mean()
    assert np.abs(found - expected[:, voiced]).mean() < 0.4 * unwarped


@pytest.mark.parametrize("name", PRESETS)
def test_the_centres_of_bands_are_librosas(name: str) -> None:
    spec = preset(name)
    expected = librosa.mel_frequencies(
        n_mels=spec.n_mels + 2, fmin=spec.fmin_hz, fmax=spec.fmax_hz, htk=spec.mel_scale == "htk"
    )
    np.testing.assert_allclose(band_edges_hz(spec), expected, rtol=1e-6, atol=1e-6)


def test_factor_one_changes_nothing_and_silence_stays_silence() -> None:
    np.testing.assert_array_equal(warp_matrix(SPEC, factor=1.0), np.eye(80, dtype=np.float32))
    for factor in (0.7, 1.0, 1.4):
        np.testing.assert_allclose(warp_matrix(SPEC, factor=factor).sum(0), 1.0, rtol=1e-6)
    silence = tf.fill([2, 3, 80], -11.5)
    matrices = tf.constant(np.stack([warp_matrix(SPEC, factor=factor) for factor in (0.8, 1.2)]))
    np.testing.assert_allclose(warp_mels(silence, matrices), -11.5, rtol=1e-6)


def test_factors_are_even_in_the_logarithm_and_as_likely_as_each_other() -> None:
    warp = FrequencyWarp(SPEC, largest=0.25)
    chosen = warp.choose([4_000], noise=RngStream(seed=1, step=tf.constant(3))).numpy()[:, :, 40]
    every = [warp_matrix(SPEC, factor=1.25**exponent)[:, 40] for exponent in np.linspace(-1.0, 1.0, FACTORS)]
    counts = [int((np.abs(chosen - one).max(1) < 1e-6).sum()) for one in every]
    assert sum(counts) == 4_000
    assert min(counts) > 0.5 * 4_000 / FACTORS
    assert max(counts) < 1.5 * 4_000 / FACTORS


def test_a_clip_and_its_reference_are_warped_alike_and_clips_of_a_batch_differently() -> None:
    random = np.random.default_rng(1)
    batch = {
        "mel": tf.constant(random.normal(size=[6, 32, 80]), tf.float32),
        "frames": tf.fill([6], 32),
        "tokens": tf.ones([6, 1], tf.int32),
        "token_counts": tf.ones([6], tf.int32),
    }
    model = SimpleNamespace(config=ModelConfig(size="pico", crop_frames=16, reference_dropout=0.0))
    warp = FrequencyWarp(SPEC, largest=0.2)

    def prepared(step: int, warp: FrequencyWarp | None) -> StepInputs:
        return prepare_inputs(model, batch, noise=RngStream(seed=1, step=tf.constant(step)), warp=warp)  # type: ignore[arg-type]

    plain, warped, again, later = prepared(1, None), prepared(1, warp), prepared(1, warp), prepared(2, warp)
    factors = [
        min(
            np.linspace(-1.0, 1.0, FACTORS),
            key=lambda exponent: np.abs(
                plain.mel[row].numpy() @ warp_matrix(SPEC, factor=1.2**exponent) - warped.mel[row].numpy()
            ).max(),
        )
        for row in range(6)
    ]
    assert len(set(factors)) > 3
    for row, exponent in enumerate(factors):
        matrix = warp_matrix(SPEC, factor=1.2**exponent)
        np.testing.assert_allclose(warped.mel[row], plain.mel[row].numpy() @ matrix, atol=1e-5)
        np.testing.assert_allclose(warped.crop.mel[row], plain.crop.mel[row].numpy() @ matrix, atol=1e-5)
    np.testing.assert_array_equal(warped.crop.frames, plain.crop.frames)
    np.testing.assert_array_equal(warped.mel, again.mel)
    assert np.abs(warped.mel - later.mel).max() > 0.1
