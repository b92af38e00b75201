"""Quality measures of signals with known properties."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from preprocess.audio import Signal, decode_audio
from preprocess.audio_file import read_audio_file
from preprocess.mel import log_mel
from preprocess.quality import (
    HASH_BITS,
    Quality,
    audio_hash,
    bandwidth_hz,
    clipped_fraction,
    frame_powers,
    measure_quality,
    silence_fraction,
    snr_db,
)
from shared.features import preset
from tests.preprocess.copies import as_mp3, through

SPEC = preset("hifigan-22k")
RATE_HZ = SPEC.sample_rate_hz
HOP = SPEC.hop_samples

Change = Callable[[np.ndarray], np.ndarray]


@pytest.fixture(scope="module")
def clips(reference: Path) -> dict[str, np.ndarray]:
    """The 32 clips of LJSpeech."""
    paths = sorted((reference / "corpora/LJSpeech-1.1/wavs").iterdir())
    return {path.stem: decode_audio(read_audio_file(str(path)), max_duration_s=20.0).samples for path in paths}


def measured(samples: np.ndarray) -> Quality:
    samples = np.ascontiguousarray(samples, np.float32)
    signal = Signal(samples, RATE_HZ)
    return measure_quality(signal, resampled=signal, mel=log_mel(samples, spec=SPEC), hop_samples=HOP)


def powers(samples: np.ndarray) -> np.ndarray:
    return frame_powers(np.ascontiguousarray(samples, np.float32), hop_samples=HOP)


def bandwidth(samples: np.ndarray) -> float:
    signal = Signal(np.ascontiguousarray(samples, np.float32), RATE_HZ)
    return bandwidth_hz(signal, powers=powers(signal.samples), hop_samples=HOP)


def clipped(samples: np.ndarray) -> float:
    return clipped_fraction(samples, highest=float(samples.max()), lowest=float(samples.min()))


def test_the_level_of_a_sine_is_three_db_below_its_peak() -> None:
    sine = 0.5 * np.sin(2 * np.pi * 441 * np.arange(RATE_HZ) / RATE_HZ)
    found = measured(sine)
    assert found.peak == pytest.approx(0.5, abs=1e-3)
    assert found.rms_db == pytest.approx(-6.02 - 3.01, abs=0.01)
    assert measured(np.zeros(2000)).rms_db == -120.0


@pytest.mark.parametrize("noise_db", [5, 10, 15, 20])
def test_the_estimate_of_snr_is_that_of_the_noise_that_was_added(noise_db: int, clips: dict[str, np.ndarray]) -> None:
    chance = np.random.default_rng(1)
    for samples in clips.values():
        level = np.sqrt(np.mean(samples**2)) * 10 ** (-noise_db / 20)
        found = snr_db(powers(samples + level * chance.normal(size=len(samples))))
        assert found == pytest.approx(noise_db, abs=0.1 * noise_db + 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("rate_hz", [8_000, 11_025, 16_000])
def test_a_recording_of_a_lower_rate_is_found_whatever_its_file_says(
    rate_hz: int, clips: dict[str, np.ndarray]
) -> None:
    """At 8 kHz a tolerance of one band of 170 Hz; upsampling, then 16 bits or mp3, hides nothing."""
    for samples in list(clips.values())[:8]:
        narrow = through(samples, rate_hz=rate_hz)
        for copy in (narrow, np.round(narrow * 32768) / 32768, as_mp3(narrow)):
            assert bandwidth(copy) == pytest.approx(rate_hz / 2, rel=0.05)
        assert bandwidth(samples) > 10_000


def test_a_pure_tone_ends_at_its_own_frequency() -> None:
    assert bandwidth(0.5 * np.sin(2 * np.pi * 3000 * np.arange(RATE_HZ) / RATE_HZ)) == pytest.approx(3000, abs=300)


@pytest.mark.parametrize("limit", [0.9, 0.6, 0.3])
def test_clipping_is_found_at_any_level_and_clean_speech_has_none(limit: float, clips: dict[str, np.ndarray]) -> None:
    for samples in clips.values():
        peak = float(np.abs(samples).max())
        assert clipped(samples) < 2e-4
        limited = np.clip(samples, -limit * peak, limit * peak)
        truth = np.mean(np.abs(samples) >= limit * peak)
        for gain in (1.0, 0.5):
            found = clipped(gain * limited)
            assert truth <= found <= truth + 2e-3


def test_clipping_on_one_side_is_found(clips: dict[str, np.ndarray]) -> None:
    """The other side, which reaches further, hid it."""
    for samples in clips.values():
        limit = 0.3 * float(samples.max())
        truth = np.mean(samples >= limit)
        for sign in (1, -1):
            assert truth <= clipped(sign * np.clip(samples, -1, limit)) <= truth + 2e-4


@pytest.mark.parametrize("offset", [0.01, 0.05, -0.1])
def test_an_offset_changes_neither_silence_nor_noise_nor_bandwidth(offset: float, clips: dict[str, np.ndarray]) -> None:
    """An offset of 0.01 took 20 dB off the ratio of speech to noise, and every pause away."""
    for samples in list(clips.values())[:8]:
        before, after = measured(samples), measured(samples + offset)
        assert after.snr_db == pytest.approx(before.snr_db, abs=0.2)
        assert after.silence_fraction == pytest.approx(before.silence_fraction, abs=0.01)
        assert after.bandwidth_hz == before.bandwidth_hz


def test_a_word_in_a_long_silence_is_mostly_silence(clips: dict[str, np.ndarray]) -> None:
    """The word is less than the twentieth of the clip that used to count as loud."""
    chance = np.random.default_rng(1)
    for samples in clips.values():
        word, clip = samples[RATE_HZ : RATE_HZ * 18 // 10], 1e-5 * chance.normal(size=18 * RATE_HZ)
        clip[5 * RATE_HZ : 5 * RATE_HZ + len(word)] += word
        assert silence_fraction(powers(clip)) == pytest.approx(1 - 0.8 / 18, abs=0.02)


def test_the_bandwidth_of_speech_is_found_behind_a_noise_floor(clips: dict[str, np.ndarray]) -> None:
    """60 dB below the peak, above the 65 dB that tell an empty band."""
    chance = np.random.default_rng(1)
    for samples in clips.values():
        for speech, low, high in ((through(samples, rate_hz=8_000), 3_700, 4_200), (samples, 10_000, 11_025)):
            noise = 1e-3 * np.abs(speech).max() * chance.normal(size=len(speech))
            assert low < bandwidth(speech + noise) <= high


def test_silence_is_the_share_of_frames_that_are_silent(clips: dict[str, np.ndarray]) -> None:
    samples = clips["LJ001-0002"]
    alone = silence_fraction(powers(samples))
    padded = silence_fraction(powers(np.concatenate([samples, np.zeros(3 * len(samples))])))
    assert alone < 0.2
    assert padded == pytest.approx(0.75 + alone / 4, abs=0.02)
    assert silence_fraction(powers(np.zeros(RATE_HZ))) == 1.0


@pytest.mark.parametrize("offset", [0.0, 0.05, -0.2])
def test_an_offset_is_found(offset: float, clips: dict[str, np.ndarray]) -> None:
    assert measured(clips["LJ001-0002"] * 0.5 + offset).dc_offset == pytest.approx(abs(offset), abs=1e-3)


def bits(one: str, other: str) -> int:
    return (int(one, 16) ^ int(other, 16)).bit_count()


COPIES: list[tuple[str, Change]] = [
    ("half as loud", lambda samples: 0.5 * samples),
    ("at 16 kHz", lambda samples: through(samples, rate_hz=16_000)),
    ("10 ms later", lambda samples: samples[220:]),
    ("mp3", as_mp3),
]


@pytest.mark.slow
@pytest.mark.parametrize(("how", "change"), COPIES, ids=[how for how, _ in COPIES])
def test_a_copy_has_nearly_the_hash_of_the_recording(how: str, change: Change, clips: dict[str, np.ndarray]) -> None:
    for samples in clips.values():
        assert bits(measured(change(samples)).audio_hash, measured(samples).audio_hash) < 13


def test_recordings_of_different_sentences_are_no_candidates(clips: dict[str, np.ndarray]) -> None:
    """Those of one sentence may be: `test_copy_proof.py` tells copies from those."""
    hashes = [measured(samples).audio_hash for samples in clips.values()]
    assert min(itertools.starmap(bits, itertools.combinations(hashes, 2))) > 26


@given(st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_a_mel_of_any_length_has_a_hash(frames: int, seed: int) -> None:
    mel = np.random.default_rng(seed).normal(size=(frames, 80)).astype(np.float32)
    assert len(audio_hash(mel)) * 4 == HASH_BITS


@given(
    st.integers(SPEC.min_samples, 4000),
    st.sampled_from([0.0, 1e-30, 1e-6, 0.1, 1.0, 99.0]),
    st.sampled_from(["zeros", "noise", "constant", "impulse"]),
)
def test_every_measure_of_any_signal_is_finite(samples: int, level: float, kind: str) -> None:
    signal = {
        "zeros": np.zeros(samples),
        "noise": np.random.default_rng(samples).normal(size=samples),
        "constant": np.ones(samples),
        "impulse": np.eye(1, samples)[0],
    }[kind]
    found = measured(np.clip(level * signal, -100, 100))
    assert all(np.isfinite(value) for value in found if not isinstance(value, str))
    assert 0 <= found.silence_fraction <= 1
    assert 0 <= found.clipped_fraction <= 1
    assert 0 <= found.bandwidth_hz <= RATE_HZ / 2
