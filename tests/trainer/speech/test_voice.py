"""Saved voices: the same after reading, refused by runs of other mels, and never more than a voice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from shared.dataset import Contract, Dataset
from shared.errors import UserError
from shared.features import preset
from tests.preprocess.test_containers import chirp, encoded
from trainer.speech import voice
from trainer.speech.reference import read_reference
from trainer.speech.voice import FORMAT, Voice, make_voice, read_voice, write_voice

CLIPS = [Path(f"tests/corpora/english/wavs/EN001-000{number}.wav") for number in (1, 2)]


@pytest.fixture
def contract(dataset: Dataset) -> Contract:
    return dataset.info.contract


@pytest.fixture
def anna(contract: Contract) -> Voice:
    return make_voice([read_reference(clip) for clip in CLIPS], contract=contract, name="Anna 🎤")


def test_a_voice_is_the_same_after_it_was_saved(anna: Voice, tmp_path: Path) -> None:
    path = tmp_path / "new" / "anna.safetensors"
    write_voice(path, anna)
    found = read_voice(path)
    assert (found.name, found.contract) == (anna.name, anna.contract)
    for mel, other in zip(found.mels, anna.mels, strict=True):
        np.testing.assert_array_equal(mel, other)


def test_a_voice_of_other_mels_is_refused_with_what_differs(anna: Voice, contract: Contract) -> None:
    anna.check(contract, run=Path("runs/x"))
    tokenizer = contract.tokenizer.model_copy(update={"sha256": "0" * 64})
    anna.check(contract.model_copy(update={"tokenizer": tokenizer}), run=Path("runs/x"))  # tokens are none of its mels
    other = contract.model_copy(update={"features": preset("vocos-24k")})
    with pytest.raises(UserError, match=r"^voice Anna .*runs/x was trained on: .*features\..* is .*, the run has"):
        anna.check(other, run=Path("runs/x"))


def saved(path: Path, *, mel: np.ndarray, metadata: dict[str, str]) -> Path:
    path.write_bytes(safetensors.numpy.save({"mel.0000": mel}, metadata))
    return path


@pytest.mark.parametrize(
    ("mel", "metadata"),
    [
        (np.zeros([0, 80], np.float32), {}),
        (np.zeros([5, 79], np.float32), {}),
        (np.zeros([5], np.float32), {}),
        (np.zeros([5, 80], np.float64), {}),
        (np.full([5, 80], np.nan, np.float32), {}),
        (np.zeros([5, 80], np.float32), {"format": "myxtts-voice-0"}),
        (np.zeros([5, 80], np.float32), {"contract": "{}"}),
        (np.zeros([5, 80], np.float32), {"name": ""}),
        (np.zeros([5, 80], np.float32), {"more": "x"}),
    ],
)
def test_a_file_that_is_no_voice_is_refused(
    tmp_path: Path, contract: Contract, mel: np.ndarray, metadata: dict[str, str]
) -> None:
    given = {"format": FORMAT, "name": "x", "contract": contract.model_dump_json()}
    assert read_voice(saved(tmp_path / "good.safetensors", mel=np.zeros([5, 80], np.float32), metadata=given)).mels
    with pytest.raises(UserError, match=r"x\.safetensors: not a voice"):
        read_voice(saved(tmp_path / "x.safetensors", mel=mel, metadata=given | metadata))


@pytest.mark.parametrize("content", [b"", b"\xff" * 8 + b"{}", b"PK\x03\x04", bytes(100)])
def test_bytes_that_are_no_safetensors_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.safetensors").write_bytes(content)
    with pytest.raises(UserError, match=r"x\.safetensors: not a voice"):
        read_voice(tmp_path / "x.safetensors")


def test_a_file_larger_than_any_voice_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(voice, "MAX_FILE_BYTES", 10)
    (tmp_path / "x.safetensors").write_bytes(bytes(11))
    with pytest.raises(UserError, match="11 bytes; a voice has at most 10"):
        read_voice(tmp_path / "x.safetensors")
    with pytest.raises(UserError, match="cannot be read"):
        read_voice(tmp_path / "nowhere.safetensors")


def test_a_clip_of_a_telephone_is_a_reference(tmp_path: Path) -> None:
    path = tmp_path / "clip.m4a"
    data = encoded(chirp(rate_hz=44_100), kind="ipod", codec="aac", rate_hz=44_100)
    path.write_bytes(data)
    found = read_reference(path)
    assert found.signal.rate_hz == 44_100
    assert found.signal.duration_s == pytest.approx(2.0, abs=0.003)
    path.write_bytes(data[:-1])
    with pytest.raises(
        UserError, match=r"reference .*clip\.m4a: \d+ bytes, its last part ends at \d+; expected a clip"
    ):
        read_reference(path)
