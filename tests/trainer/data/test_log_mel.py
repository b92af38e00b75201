"""The trainer's mel against that of preparation and against arrays that the vocoders' own code made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from preprocess.mel import log_mel
from shared.features import PRESETS, FeatureSpec, preset
from trainer.data.log_mel import LogMel

# Of ln magnitudes around −12 to 6, in float32; 1.9e-6 is the largest that was seen on speech.
TOLERANCE = 2e-5

every_preset = pytest.mark.parametrize("spec", PRESETS.values(), ids=list(PRESETS))
CLIPS = ["LJ001-0001", "LJ001-0002", "LJ001-0008", "LJ001-0016"]


def computed(samples: np.ndarray, *, spec: FeatureSpec) -> np.ndarray:
    return LogMel(spec)(tf.constant(samples, tf.float32)).numpy()


@pytest.mark.parametrize("clip", CLIPS)
def test_the_mel_equals_hifigans_reference(clip: str, reference: Path) -> None:
    arrays = np.load(reference / f"golden/mel_hifigan_22k/{clip}.npz")
    difference = np.abs(computed(arrays["audio_int16"] / 32768, spec=preset("hifigan-22k")) - arrays["log_mel"])
    assert difference.max() < 3e-3  # the tolerances of preparation's own test
    assert difference[arrays["log_mel"] > -6].max() < 6e-5
    assert difference.mean() < 1e-5


@pytest.mark.parametrize("clip", ["LJ001-0002", "LJ001-0016"])
def test_the_mel_equals_the_references_of_the_other_presets(clip: str, reference: Path) -> None:
    arrays = np.load(reference / f"golden/mel_bigvgan_24k_100/{clip}.npz")
    audio, bigvgan = arrays["audio_24k_float32"], arrays["log_mel"]
    difference = np.abs(computed(audio, spec=preset("bigvgan-24k-100")) - bigvgan)
    assert difference.max() < 3e-3
    assert difference.mean() < 1e-5
    vocos = np.load(reference / f"golden/mel_vocos_24k_100/{clip}.npz")["log_mel_from_float64"]
    audible = vocos > -5
    np.testing.assert_allclose(computed(audio, spec=preset("vocos-24k"))[audible], vocos[audible], atol=1e-3, rtol=0)


def test_the_mel_equals_that_of_preparation_on_edge_cases(reference: Path) -> None:
    arrays = np.load(reference / "golden/mel_hifigan_22k_edge/edge_cases.npz")
    for name in [name for name in arrays if name.startswith("audio__")]:
        for spec in PRESETS.values():
            if len(arrays[name]) >= spec.min_samples:
                # of a sine, most bands hold nothing but the rounding of the transform
                atol = 3e-3 if "sine" in name or "ramp" in name else TOLERANCE
                ours, theirs = computed(arrays[name], spec=spec), log_mel(arrays[name], spec=spec)
                loud = theirs > -9
                np.testing.assert_allclose(ours[loud], theirs[loud], atol=atol, rtol=0, err_msg=f"{name} {spec.name}")


@pytest.mark.slow
@every_preset
@given(extra=st.integers(0, 3000), seed=st.integers(0, 99))
def test_the_mel_equals_that_of_preparation_at_any_length(spec: FeatureSpec, extra: int, seed: int) -> None:
    samples = np.random.default_rng(seed).normal(0, 0.1, spec.min_samples + extra).astype(np.float32)
    ours, theirs = computed(samples, spec=spec), log_mel(samples, spec=spec)
    assert ours.shape == theirs.shape == (spec.num_frames(len(samples)), spec.n_mels)
    np.testing.assert_allclose(ours, theirs, atol=TOLERANCE, rtol=0)


@every_preset
def test_silence_is_as_in_preparation(spec: FeatureSpec) -> None:
    silence = np.zeros(5000, np.float32)
    np.testing.assert_allclose(computed(silence, spec=spec), log_mel(silence, spec=spec), atol=TOLERANCE)
