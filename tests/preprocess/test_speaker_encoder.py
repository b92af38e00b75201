"""The speaker encoder against the program of its authors, and librosa."""

from __future__ import annotations

import json
from pathlib import Path

import librosa
import numpy as np
import pytest

from preprocess import speaker_encoder
from preprocess.audio import decode_audio, resample
from preprocess.mel import power_mel
from preprocess.speaker_encoder import DIMENSIONS, RATE_HZ, SpeakerEncoder, check_speaker_encoder
from shared.errors import UserError

# What Resemblyzer 0.1.4 with PyTorch 2.15 gives for the noises below, by their number of samples.
VOICES = Path(__file__).with_name("resemblyzer_voices.json")
GERMAN = Path("tests/corpora/german/de/clips")


@pytest.fixture(scope="module")
def encoder() -> SpeakerEncoder:
    return SpeakerEncoder()


def test_a_voice_is_the_vector_that_the_authors_program_gives(encoder: SpeakerEncoder) -> None:
    """Of recordings shorter and longer than a window, with a last window that is heard and one that is not."""
    noise = np.random.default_rng(1)
    for count, expected in json.loads(VOICES.read_text()).items():
        samples = (noise.standard_normal(int(count)) * 0.05).astype(np.float32)
        found = encoder(samples)
        assert (found.shape, found.dtype) == ((DIMENSIONS,), np.float32)
        np.testing.assert_allclose(found, expected, atol=3e-6)


def test_a_soft_recording_has_the_same_voice(encoder: SpeakerEncoder) -> None:
    samples = (np.random.default_rng(4).standard_normal(RATE_HZ) * 10 ** (-30 / 20)).astype(np.float32)
    np.testing.assert_allclose(encoder(samples * np.float32(0.01)), encoder(samples), atol=2e-3)
    assert np.isfinite(encoder(np.zeros(RATE_HZ, np.float32))).all()


def test_the_mel_is_that_of_librosa() -> None:
    samples = np.random.default_rng(2).standard_normal(RATE_HZ).astype(np.float32)
    expected = librosa.feature.melspectrogram(y=samples, sr=RATE_HZ, n_fft=400, hop_length=160, n_mels=40).T
    np.testing.assert_allclose(power_mel(samples, spec=speaker_encoder._MEL), expected, rtol=1e-4, atol=1e-6)


def test_a_speaker_is_nearer_to_himself_than_to_another_one(encoder: SpeakerEncoder) -> None:
    """The first voice of the sample corpus has the clips with odd numbers, the second one those with even ones."""
    paths = [GERMAN / f"common_voice_de_{number}.mp3" for number in range(1, 9)]
    decoded = [decode_audio(path.read_bytes(), max_duration_s=60) for path in paths]
    voices = np.stack([encoder(resample(one, rate_hz=RATE_HZ).samples) for one in decoded])
    cosines = voices @ voices.T
    same = np.add.outer(np.arange(8), np.arange(8)) % 2 == 0
    assert cosines[same].min() > 0.7 > cosines[~same].max()


def test_a_recording_of_nearly_nothing_has_a_voice_or_none_but_no_error(encoder: SpeakerEncoder) -> None:
    for level in (1e-44, 1e-30, 1e-10):
        encoder(np.full(RATE_HZ, level, np.float32))


def test_weights_of_another_network_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speaker_encoder, "read_weights", lambda *_, **__: {"linear.bias": np.zeros(7)})
    with pytest.raises(UserError, match=r"not the weights of Resemblyzer 0\.1; pip install"):
        SpeakerEncoder()


def test_without_the_weights_a_line_tells_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speaker_encoder, "_path", lambda: Path("nowhere/pretrained.pt"))
    with pytest.raises(UserError, match=r"no weights of a speaker encoder; .* pip install --no-deps 'resemblyzer>="):
        check_speaker_encoder()
