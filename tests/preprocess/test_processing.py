"""Optional steps before the mel: trimming, loudness, peak."""

from __future__ import annotations

from pathlib import Path

import librosa
import numpy as np
import pyloudnorm
import pytest
from hypothesis import given
from hypothesis import strategies as st

from preprocess.audio import Signal, decode_audio, resample
from preprocess.audio_file import read_audio_file
from preprocess.processing import process
from shared.processing import Processing

RATE_HZ = 22050


@pytest.fixture(scope="module")
def clip(reference: Path) -> Signal:
    path = reference / "corpora/LJSpeech-1.1/wavs/LJ001-0002.wav"
    return decode_audio(read_audio_file(str(path)), max_duration_s=20.0)


def test_without_a_step_the_signal_is_the_same_object(clip: Signal) -> None:
    assert process(clip, steps=Processing()) is clip


@pytest.mark.slow
@pytest.mark.parametrize("trim_db", [20.0, 30.0, 40.0])
def test_trimming_finds_librosas_edges(trim_db: float, clip: Signal) -> None:
    silence = np.zeros(RATE_HZ // 2, np.float32)
    padded = Signal(np.concatenate([silence, clip.samples, silence]), RATE_HZ)
    _, (start, stop) = librosa.effects.trim(padded.samples, top_db=trim_db, frame_length=441, hop_length=220)
    trimmed = process(padded, steps=Processing(trim_db=trim_db, trim_margin_s=0.0))
    assert len(trimmed.samples) == pytest.approx(stop - start, abs=1000)
    margin = process(padded, steps=Processing(trim_db=trim_db, trim_margin_s=0.1))
    assert len(margin.samples) == pytest.approx(len(trimmed.samples) + 2 * 2205, abs=1)


@pytest.mark.parametrize("lufs", [-30.0, -23.0, -16.0])
@pytest.mark.parametrize("gain", [0.1, 1.0])
def test_loudness_comes_to_its_target(lufs: float, gain: float, clip: Signal) -> None:
    louder = process(clip._replace(samples=gain * clip.samples), steps=Processing(loudness_lufs=lufs))
    assert pyloudnorm.Meter(RATE_HZ).integrated_loudness(louder.samples) == pytest.approx(lufs, abs=0.1)


def test_the_peak_limit_scales_down_and_never_up(clip: Signal) -> None:
    loud = process(clip, steps=Processing(loudness_lufs=-5.0, max_peak=0.95))
    assert np.abs(loud.samples).max() == pytest.approx(0.95, abs=1e-4)
    assert process(clip, steps=Processing(max_peak=1.0)) is clip


@given(st.integers(1, 20_000), st.sampled_from([0.0, 1e-8, 0.5]))
def test_any_signal_comes_out_finite_and_not_empty(samples: int, level: float) -> None:
    signal = Signal((level * np.random.default_rng(samples).normal(size=samples)).astype(np.float32), RATE_HZ)
    found = process(signal, steps=Processing(trim_db=40.0, loudness_lufs=-23.0, max_peak=0.9)).samples
    assert len(found) > 0
    assert np.isfinite(found).all()


def test_one_sample_of_which_resampling_leaves_nothing_passes_every_step() -> None:
    nothing = resample(Signal(np.ones(1, np.float32), 48_000), rate_hz=22_050)
    assert len(process(nothing, steps=Processing(trim_db=40.0, loudness_lufs=-23.0, max_peak=0.9)).samples) == 0
