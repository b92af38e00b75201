"""DNSMOS against the program of its authors, in the package speechmos, and librosa."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import librosa
import numpy as np
import pytest
from speechmos import dnsmos as authors

from preprocess import dnsmos
from preprocess.audio import decode_audio, resample
from preprocess.dnsmos import DNSMOS, RATE_HZ, Opinion, check_dnsmos, p808_mel
from shared.errors import UserError

CLIPS = sorted(Path("tests/corpora/english/wavs").iterdir())


def samples_of(path: Path) -> np.ndarray:
    return np.clip(resample(decode_audio(path.read_bytes(), max_duration_s=30), rate_hz=RATE_HZ).samples, -1, 1)


@pytest.fixture(scope="module")
def networks() -> DNSMOS:
    return DNSMOS()


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [1.5, 9.01, 24.5])
def test_the_scores_are_those_of_the_authors(seconds: float, networks: DNSMOS) -> None:
    speech = np.concatenate([samples_of(path) for path in CLIPS])[: round(seconds * RATE_HZ)]
    expected = authors.run(speech, RATE_HZ)
    found = networks(speech)
    assert found.ovrl == pytest.approx(expected["ovrl_mos"], abs=1e-5)
    assert found.sig == pytest.approx(expected["sig_mos"], abs=1e-5)
    assert found.bak == pytest.approx(expected["bak_mos"], abs=1e-5)
    assert found.p808 == pytest.approx(expected["p808_mos"], abs=1e-4)


@pytest.mark.parametrize(
    "samples", [1, 7, 16_000, 143_999, 144_159, 144_160, 144_161, 176_160, 400_000, 640_000, 960_001]
)
def test_the_networks_hear_the_windows_that_the_authors_program_hears(
    samples: int, networks: DNSMOS, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: dict[str, list[float]] = {"authors": [], "here": []}

    class Network:
        """Answers by constants, and notes the first sample that it hears."""

        def __init__(self, name: str):
            self._name = name

        def run(self, _: object, inputs: dict[str, np.ndarray]) -> Any:
            assert inputs["input_1"].shape == (1, 144_160)
            heard[self._name].append(float(inputs["input_1"][0, 0]))
            return [np.ones((1, 3), np.float32)]

    class Silent:
        def run(self, *_: object) -> Any:
            return [np.ones((1, 1), np.float32)]

    program = authors.DNSMOS.__new__(authors.DNSMOS)
    program.onnx_sess, program.p808_onnx_sess = Network("authors"), Silent()
    monkeypatch.setattr(program, "audio_melspec", lambda audio: np.zeros((1, 1)), raising=False)
    monkeypatch.setattr(networks, "_p835", Network("here"))
    monkeypatch.setattr(networks, "_p808", Silent())
    monkeypatch.setattr(dnsmos, "p808_mel", lambda samples: np.zeros((1, 1), np.float32))
    signal = np.arange(samples, dtype=np.float32) / samples
    program(signal, RATE_HZ, False)
    networks(signal)
    assert heard["here"] == heard["authors"] != []


def test_the_mel_is_librosas() -> None:
    speech = np.resize(samples_of(CLIPS[0]), 144_000)
    power = librosa.feature.melspectrogram(y=speech, sr=RATE_HZ, n_fft=321, hop_length=160, n_mels=120)
    expected = (librosa.power_to_db(power, ref=np.max) + 40) / 40
    np.testing.assert_allclose(p808_mel(speech), expected.T, atol=1e-4)


@pytest.mark.parametrize("level", [0.0, 1 / 32768])
def test_the_mel_of_silence_is_librosas(level: float) -> None:
    silence = level * np.random.default_rng(0).integers(-1, 2, 144_000).astype(np.float32)
    power = librosa.feature.melspectrogram(y=silence, sr=RATE_HZ, n_fft=321, hop_length=160, n_mels=120)
    expected = (librosa.power_to_db(power, ref=np.max) + 40) / 40
    np.testing.assert_allclose(p808_mel(silence), expected.T, atol=1e-4)


@pytest.mark.slow
def test_the_scores_of_all_and_of_the_background_fall_with_noise(networks: DNSMOS) -> None:
    """That of the speech alone does not always."""
    chance = np.random.default_rng(0)
    scores = []
    for snr_db in (25, 10, -5):
        opinions = []
        for path in CLIPS[:2]:
            speech = samples_of(path)
            noise = chance.normal(size=len(speech)) * speech.std() * 10 ** (-snr_db / 20)
            opinions.append(networks((speech + noise).astype(np.float32)))
        scores.append(np.mean(opinions, axis=0))
    falls = np.diff(np.delete(scores, Opinion._fields.index("sig"), axis=1), axis=0)
    assert (falls < 0).all()


@pytest.mark.parametrize("missing", ["onnxruntime", "speechmos"])
def test_without_the_packages_there_is_one_line(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_dnsmos()
    find = dnsmos.importlib.util.find_spec
    monkeypatch.setattr(dnsmos.importlib.util, "find_spec", lambda name: None if name == missing else find(name))
    with pytest.raises(UserError, match=r"pip install 'myxtts\[dnsmos\]'"):
        check_dnsmos()
