from __future__ import annotations

from pathlib import Path

import librosa
import numpy as np
import pytest

from preprocess.mel import log_mel
from shared.errors import UserError
from shared.features import PRESETS, FeatureSpec, mel_filterbank, preset

GOLDEN_FILTERS = {
    "hifigan-22k": ("mel_hifigan_22k", "mel_80x513_fmax8000"),
    "bigvgan-24k-100": ("mel_bigvgan_24k_100", "mel_100x513"),
}
GOLDEN_MELS = {
    "hifigan-22k": ("mel_hifigan_22k", "mel_hifigan_22k", "audio_int16"),
    "bigvgan-24k-100": ("mel_bigvgan_24k_100", "mel_bigvgan_24k_100", "audio_24k_float32"),
    "vocos-24k": ("mel_vocos_24k_100", "mel_bigvgan_24k_100", "audio_24k_float32"),
}
every_preset = pytest.mark.parametrize("spec", PRESETS.values(), ids=list(PRESETS))


@every_preset
def test_filterbank_equals_librosas(spec: FeatureSpec) -> None:
    theirs = librosa.filters.mel(
        sr=spec.sample_rate_hz,
        n_fft=spec.n_fft,
        n_mels=spec.n_mels,
        fmin=spec.fmin_hz,
        fmax=spec.fmax_hz,
        htk=spec.mel_scale == "htk",
        norm=spec.mel_norm,  # type: ignore[arg-type]
    )
    np.testing.assert_allclose(mel_filterbank(spec).T, theirs, atol=2e-7 if spec.mel_norm is None else 2e-9)


@pytest.mark.parametrize("name", GOLDEN_FILTERS)
def test_filterbank_equals_the_vocoders_own(name: str, reference: Path) -> None:
    folder, array = GOLDEN_FILTERS[name]
    golden = np.load(reference / "golden" / folder / "filterbank.npz")[array]
    np.testing.assert_allclose(mel_filterbank(preset(name)).T, golden, atol=2e-9)


def test_filterbank_equals_that_of_vocos(reference: Path) -> None:
    arrays = np.load(reference / "golden/mel_vocos_24k_100/filterbank.npz")
    (golden,) = (array for array in arrays.values() if array.ndim == 2)
    ours = mel_filterbank(preset("vocos-24k"))
    # torchaudio computes its filters in float32
    np.testing.assert_allclose(ours if golden.shape == ours.shape else ours.T, golden, atol=2e-5)


@every_preset
def test_num_frames_is_the_length_of_the_real_mel(spec: FeatureSpec) -> None:
    noise = np.random.default_rng(0).normal(size=4000).astype(np.float32)
    for samples in (*range(spec.min_samples, 2100), 4000):
        assert spec.num_frames(samples) == len(log_mel(noise[:samples], spec=spec))


@pytest.mark.parametrize("name", GOLDEN_MELS)
def test_num_frames_is_the_length_of_the_golden_mels(name: str, reference: Path) -> None:
    mel_folder, audio_folder, array = GOLDEN_MELS[name]
    files = sorted((reference / "golden" / mel_folder).glob("LJ*.npz"))
    assert len(files) >= 2
    for file in files:
        audio = np.load(reference / "golden" / audio_folder / file.name)[array]
        assert preset(name).num_frames(len(audio)) == len(np.load(file)["log_mel"])


def test_hifigan_frames_are_a_256th_of_the_samples() -> None:
    spec = preset("hifigan-22k")
    assert all(spec.num_frames(samples) == samples // 256 for samples in range(spec.min_samples, 5000))


def test_log_silence_is_that_of_the_vocoder() -> None:
    assert preset("hifigan-22k").log_silence == pytest.approx(-11.5129, abs=1e-4)
    assert preset("vocos-24k").log_silence == pytest.approx(-16.1181, abs=1e-4)


def test_an_unknown_preset_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        UserError, match="unknown feature preset 'hifigan'; expected one of hifigan-22k, bigvgan-24k-100"
    ):
        preset("hifigan")


@every_preset
def test_a_filterbank_cannot_be_changed_by_its_user(spec: FeatureSpec) -> None:
    with pytest.raises(ValueError, match="read-only"):
        mel_filterbank(spec)[0, 0] = 1.0
