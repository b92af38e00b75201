"""The corpus of the check with many voices, by espeak-ng where it is installed."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile

from shared.errors import UserError
from tests.learn.many_voices.corpus import VOICES, _check_variants, held_out_voices, make_corpus, read_rows


def test_without_espeak_it_ends_in_a_line_that_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="apt-get install espeak-ng"):
        make_corpus(tmp_path / "corpus")
    assert not (tmp_path / "corpus").exists()


def test_an_espeak_that_fails_ends_in_a_line_with_what_it_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = "#!/bin/sh\necho '5 variant M Alex !v/Alex'\necho no such language >&2\ntest $1 = --voices=variant\n"
    (tmp_path / "espeak-ng").write_text(program)
    (tmp_path / "espeak-ng").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(UserError, match=r"en-us\+Alex did not speak .* \(no such language\)"):
        make_corpus(tmp_path / "corpus", voices=["Alex"], languages=["eng_Latn"])
    with pytest.raises(UserError, match=r"has no variants Alicia, zac; expected those of version 1\.51"):
        make_corpus(tmp_path / "corpus", voices=["zac", "Alex", "Alicia"], languages=["eng_Latn"])
    assert not (tmp_path / "corpus" / "metadata.csv").exists()


def test_a_corpus_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"unseen\.csv: no such file; `make learn-check LEVEL=voices`"):
        read_rows(tmp_path / "unseen.csv")


@pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed")
def test_espeak_has_every_voice() -> None:
    _check_variants(VOICES)
    with pytest.raises(UserError, match="has no variants nobody"):
        _check_variants([*VOICES, "nobody"])


def test_twelve_of_eighty_three_voices_are_held_out() -> None:
    assert (len(VOICES), len(set(VOICES)), len(held_out_voices())) == (83, 83, 12)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed")
def test_held_out_voices_are_not_in_training_and_voices_differ(tmp_path: Path) -> None:
    voices = ("Annie", "david", "klatt3", "m2", "f4")
    assert make_corpus(tmp_path, voices=voices, languages=["fra_Latn"]) == 4 * 12
    training, unseen = read_rows(tmp_path / "metadata.csv"), read_rows(tmp_path / "unseen.csv")
    assert {row.speaker for row in training} == set(voices[:4])
    assert [row.speaker for row in unseen] == ["f4"] * 18
    assert not {row.text for row in training} & {row.text for row in unseen}
    for row in (*training, *unseen):
        samples, rate_hz = soundfile.read(tmp_path / row.audio, dtype="float32")
        assert rate_hz == 22_050
        assert np.abs(samples).max() > 0.1
        assert len(samples) > 0.3 * rate_hz
    first = {row.speaker: (tmp_path / row.audio).read_bytes() for row in training}
    assert len(set(first.values())) == 4
