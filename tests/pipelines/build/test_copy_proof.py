"""Copies of recordings are proven by their mels, and other recordings are not."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soxr

from pipelines.build.copy_proof import are_copies, correlation
from preprocess.audio import decode_audio
from preprocess.audio_file import read_audio_file
from preprocess.mel import log_mel
from shared.features import PRESETS, preset
from tests.preprocess.copies import as_mp3, through

SPEC = preset("hifigan-22k")
RATE_HZ = SPEC.sample_rate_hz

Change = Callable[[np.ndarray], np.ndarray]


def mel(samples: np.ndarray, *, features: str = "hifigan-22k") -> np.ndarray:
    return log_mel(np.ascontiguousarray(samples, np.float32), spec=preset(features)).astype(np.float16)


def with_noise(samples: np.ndarray, *, snr_db: float) -> np.ndarray:
    level = np.sqrt(np.mean(samples**2)) * 10 ** (-snr_db / 20)
    return samples + level * np.random.default_rng(1).normal(size=len(samples))


COPIES: dict[str, Change] = {
    "itself": lambda samples: samples,
    "a third as loud": lambda samples: 0.3 * samples,
    "mp3": as_mp3,
    "at 8 kHz": lambda samples: through(samples, rate_hz=8_000),
    "3 % faster": lambda samples: soxr.resample(samples, RATE_HZ, RATE_HZ / 1.03),
    "3 % slower": lambda samples: soxr.resample(samples, RATE_HZ, RATE_HZ * 1.03),
    "50 ms less at its begin": lambda samples: samples[RATE_HZ // 20 :],
    "50 ms less at its end": lambda samples: samples[: -RATE_HZ // 20],
    "200 ms less": lambda samples: samples[RATE_HZ // 5 :],
    "with noise of 20 dB": lambda samples: with_noise(samples, snr_db=20),
}


@pytest.fixture(scope="module")
def clips(reference: Path) -> list[np.ndarray]:
    """The 32 clips of LJSpeech, and 1.2 s of each."""
    paths = sorted((reference / "corpora/LJSpeech-1.1/wavs").iterdir())
    whole = [decode_audio(read_audio_file(str(path)), max_duration_s=20.0).samples for path in paths]
    return [*whole, *(samples[RATE_HZ // 2 : RATE_HZ * 17 // 10] for samples in whole)]


@pytest.mark.slow
@pytest.mark.parametrize("how", COPIES)
def test_a_copy_is_proven(how: str, clips: list[np.ndarray]) -> None:
    for samples in clips[::3]:
        assert are_copies(mel(samples), mel(COPIES[how](samples)), spec=SPEC)
        assert are_copies(mel(COPIES[how](samples)), mel(samples), spec=SPEC)


@pytest.mark.parametrize("features", sorted(PRESETS))
def test_copies_are_proven_with_every_preset(features: str, clips: list[np.ndarray]) -> None:
    for samples in clips[:4]:
        faster = soxr.resample(samples, RATE_HZ, RATE_HZ / 1.03)
        pair = mel(samples, features=features), mel(with_noise(faster, snr_db=30), features=features)
        assert are_copies(*pair, spec=preset(features))


@pytest.mark.slow
def test_no_two_recordings_are_copies(clips: list[np.ndarray]) -> None:
    mels = [mel(samples) for samples in clips]
    halves = set(zip(range(32), range(32, 64), strict=True))  # a clip and a part of it
    for one, other in itertools.combinations(range(len(mels)), 2):
        if (one, other) not in halves:
            assert correlation(mels[one], mels[other], spec=SPEC) < 0.8


def test_a_sentence_that_is_said_twice_is_no_copy(reference: Path) -> None:
    said_twice = sorted((reference / "corpora/vctk/VCTK-Corpus/wav48").glob("*/*_003.wav"))
    first, second = (decode_audio(read_audio_file(str(path)), max_duration_s=20.0) for path in said_twice[:2])
    pair = (mel(soxr.resample(one.samples, one.rate_hz, RATE_HZ)) for one in (first, second))
    assert not are_copies(*pair, spec=SPEC)


@pytest.mark.parametrize("frames", [(1, 1), (1, 9), (8, 8), (3, 400)])
def test_mels_of_any_length_can_be_compared(frames: tuple[int, int]) -> None:
    chance = np.random.default_rng(1)
    one, other = (chance.normal(size=(count, SPEC.n_mels)).astype(np.float16) for count in frames)
    assert -1 <= correlation(one, other, spec=SPEC) <= 1
    silent = np.full_like(one, -11.5)
    assert not are_copies(silent, silent, spec=SPEC)
