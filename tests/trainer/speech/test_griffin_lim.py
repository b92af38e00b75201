"""Griffin-Lim: the mel of the waveform is the given mel."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from preprocess.mel import log_mel
from shared.features import PRESETS
from trainer.speech.griffin_lim import _overlap_add, griffin_lim, linear_magnitudes

SPEC = PRESETS["hifigan-22k"]


def test_a_real_clip_comes_back_with_nearly_the_same_mel(reference: Path) -> None:
    mel = np.load(reference / "golden/mel_hifigan_22k/LJ001-0002.npz")["log_mel"]
    signal = griffin_lim(mel, spec=SPEC)
    assert signal.dtype == np.float32
    assert len(signal) == len(mel) * SPEC.hop_samples
    again = log_mel(signal, spec=SPEC)
    error = np.abs(again - mel)
    loud = mel > -6
    print(f"mean error in ln: {error.mean():.3f}, where mel > -6 ({loud.mean():.0%}): {error[loud].mean():.3f}")
    assert error[loud].mean() < 0.35
    assert np.corrcoef(again.ravel(), mel.ravel())[0, 1] > 0.97


def test_the_same_seed_gives_the_same_signal_and_another_seed_another() -> None:
    mel = np.random.default_rng(1).normal(-4, 2, (12, 80)).astype(np.float32)
    first, again, other = (griffin_lim(mel, spec=SPEC, iterations=3, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0


@pytest.mark.parametrize("preset", sorted(PRESETS))
@pytest.mark.parametrize("frames", [1, 2, 3, 40])
def test_the_signal_has_the_length_that_gives_so_many_frames(preset: str, frames: int) -> None:
    spec = PRESETS[preset]
    mel = np.random.default_rng(1).normal(-4, 2, (frames, spec.n_mels)).astype(np.float32)
    signal = griffin_lim(mel, spec=spec, iterations=2)
    assert np.isfinite(signal).all()
    assert spec.num_frames(len(signal)) == frames


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_linear_magnitudes_are_not_negative_and_give_the_mel_again(preset: str) -> None:
    from shared.features import mel_filterbank

    spec = PRESETS[preset]
    bins = spec.n_fft // 2 + 1
    smooth = np.exp(np.sin(np.linspace(0, 20, bins)))[None, :] * np.array([[0.1], [1.0]])
    mel = smooth @ mel_filterbank(spec)
    magnitudes = linear_magnitudes(np.log(mel), spec=spec)
    assert magnitudes.shape == (2, bins)
    assert (magnitudes >= 0).all()
    found, wanted = magnitudes @ mel_filterbank(spec), mel
    assert np.mean(np.abs(found - wanted)) < 0.05 * np.mean(wanted)


def test_silence_stays_silent() -> None:
    mel = np.full((10, 80), SPEC.log_silence, np.float32)
    assert np.abs(griffin_lim(mel, spec=SPEC, iterations=3)).max() < 1e-4


@pytest.mark.parametrize(("frames", "size", "hop"), [(1, 8, 2), (5, 8, 2), (7, 9, 4), (3, 10, 10), (4, 1024, 256)])
def test_overlap_add_is_the_sum_of_shifted_pieces(frames: int, size: int, hop: int) -> None:
    pieces = np.random.default_rng(0).normal(size=(frames, size)).astype(np.float32)
    expected = np.zeros((frames - 1) * hop + size)
    for number, piece in enumerate(pieces):
        expected[number * hop : number * hop + size] += piece
    np.testing.assert_allclose(_overlap_add(pieces, hop=hop), expected, atol=1e-5)
