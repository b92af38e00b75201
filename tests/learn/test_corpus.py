"""The corpus: by flite where it is installed, in one line where it is not."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile

from shared.errors import UserError
from tests.learn.corpus import VOICES, make_corpus
from tests.learn.grammar import jsgf, sentences
from tests.learn.metrics import pitch_hz
from trainer.evaluation.listeners import PocketsphinxListener


def test_without_flite_it_ends_in_a_line_that_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="apt-get install flite"):
        make_corpus(tmp_path / "corpus", count=1)
    assert not (tmp_path / "corpus").exists()


def test_a_flite_that_fails_ends_in_a_line_with_what_it_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "flite").write_text("#!/bin/sh\necho no such voice >&2\nexit 1\n")
    (tmp_path / "flite").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(UserError, match="no such voice"):
        make_corpus(tmp_path / "corpus", count=1)
    assert not (tmp_path / "corpus" / "metadata.csv").exists()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("flite") is None, reason="flite is not installed")
def test_both_voices_say_every_sentence_and_are_understood(tmp_path: Path) -> None:
    assert make_corpus(tmp_path, count=3) == 6
    with (tmp_path / "metadata.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["text"], row["speaker"]) for row in rows] == [(text, one) for text in sentences(3) for one in VOICES]
    listener, pitches = PocketsphinxListener(grammar=jsgf()), {}
    for row in rows:
        samples, rate_hz = soundfile.read(tmp_path / row["audio"], dtype="float32")
        assert listener.transcribe(samples, rate_hz=rate_hz) == row["text"]
        pitches.setdefault(row["speaker"], []).append(pitch_hz(samples, rate_hz=rate_hz))
    assert min(pitches["slt"]) > 1.2 * max(pitches["rms"]), pitches
    assert np.ptp(pitches["slt"]) < 40
