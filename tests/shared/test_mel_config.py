"""Mel settings of the user's own, against librosa's mels and against the presets."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import librosa
import numpy as np
import pytest

from preprocess.mel import log_mel
from shared.features import CUSTOM, PRESETS, FeatureSpec
from shared.mel_config import MelConfig, check_features, feature_spec

WIDE: dict[str, Any] = {"sample_rate_hz": 44100, "n_fft": 2048, "hop_samples": 512, "n_mels": 128, "fmax_hz": 22050}
NARROW: dict[str, Any] = {"sample_rate_hz": 16000, "n_fft": 800, "hop_samples": 200, "fmin_hz": 55, "fmax_hz": 7600}
HTK: dict[str, Any] = {**NARROW, "padding": "center", "mel_scale": "htk", "mel_norm": "none", "n_mels": 40}


def spec_of(features: str = "hifigan-22k", **own: Any) -> FeatureSpec:
    return feature_spec(features, mel=MelConfig.model_validate(own))


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_without_own_settings_the_spec_is_the_presets(name: str) -> None:
    assert spec_of(name) is PRESETS[name]


def test_settings_that_are_those_of_another_preset_give_that_preset() -> None:
    assert spec_of(sample_rate_hz=24000, n_mels=100, fmax_hz=12000) is PRESETS["bigvgan-24k-100"]
    vocos = {"padding": "center", "mel_scale": "htk", "mel_norm": "none", "power_epsilon": 0, "floor": 1e-7}
    assert spec_of("bigvgan-24k-100", **vocos) is PRESETS["vocos-24k"]


@pytest.mark.parametrize("own", [WIDE, NARROW, HTK], ids=["44 kHz", "16 kHz", "16 kHz of HTK"])
def test_the_mel_equals_librosas_with_the_same_settings(own: dict[str, Any]) -> None:
    spec = spec_of(**own, power_epsilon=0)
    assert spec.name == CUSTOM
    samples = np.random.default_rng(4).normal(0, 0.1, 3 * own["n_fft"]).astype(np.float32)
    is_centred = own.get("padding") == "center"
    pad = own["n_fft"] // 2 if is_centred else (own["n_fft"] - own["hop_samples"]) // 2
    expected = librosa.feature.melspectrogram(
        y=np.pad(samples, pad, mode="reflect"),
        sr=own["sample_rate_hz"],
        n_fft=own["n_fft"],
        hop_length=own["hop_samples"],
        center=False,
        power=1,
        n_mels=own.get("n_mels", 80),
        fmin=own.get("fmin_hz", 0),
        fmax=own["fmax_hz"],
        htk=own.get("mel_scale") == "htk",
        norm=None if own.get("mel_norm") == "none" else "slaney",
    )
    np.testing.assert_allclose(log_mel(samples, spec=spec), np.log(np.maximum(expected, spec.floor)).T, atol=2e-4)
    assert len(expected.T) == len(samples) // own["hop_samples"] + is_centred


def test_padding_follows_the_transform_as_in_the_preset() -> None:
    assert spec_of(n_fft=2048, hop_samples=512).pad_samples == 768
    assert spec_of("vocos-24k", n_fft=2048).pad_samples == 1024


def test_the_preset_gives_what_is_not_set() -> None:
    spec, base = spec_of(**WIDE), PRESETS["hifigan-22k"]
    assert dataclasses.asdict(spec) == {**dataclasses.asdict(base), **WIDE, "pad_samples": 768, "name": CUSTOM}


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"hop_samples": 514}, "mel.hop_samples 514 is more than half of mel.n_fft 1024"),
        ({"hop_samples": 255}, "mel.n_fft 1024, mel.hop_samples 255: expected even numbers"),
        ({"fmax_hz": 12000}, "mel.fmin_hz 0, mel.fmax_hz 12000: expected the first below the second, and both"),
        ({"fmin_hz": 8000}, "mel.fmin_hz 8000, mel.fmax_hz 8000: expected the first below the second"),
        ({"sample_rate_hz": 8000}, "at most half of mel.sample_rate_hz, 4000"),
        ({"n_mels": 82}, "mel.n_mels 82: expected a multiple of 4"),
        ({"hop_samples": 32}, "mel.hop_samples 32 at 22,050 Hz: 689.1 frames per second, expected 20 to 250"),
        ({"mel_norm": "none"}, "mel.floor 1e-05 with mel.power_epsilon 1e-09: silence is"),
        (
            {"n_mels": 256, "n_fft": 512},
            "bands are narrower than a bin of the transform and would be empty; expected fewer bands",
        ),
    ],
)
def test_settings_that_do_not_go_together_are_refused(own: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        spec_of(**own)


@pytest.mark.parametrize(
    "change", [{"n_fft": 1 << 40}, {"hop_samples": 0}, {"pad_samples": 1 << 30}, {"mel_scale": "bark"}]
)
def test_settings_of_a_file_that_would_take_unbounded_memory_are_refused(change: dict[str, Any]) -> None:
    check_features(spec_of(**WIDE))
    check_features(PRESETS["vocos-24k"])
    with pytest.raises(ValueError, match=next(iter(change))):
        check_features(dataclasses.replace(spec_of(**WIDE), **change))
