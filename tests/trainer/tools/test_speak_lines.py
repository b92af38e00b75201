"""Texts of a file into a folder: a file and a row for each, and after a kill only what is missing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import soundfile

from shared.errors import UserError
from tests.trainer.server.serving import RATE_HZ, tone_piece
from trainer.speech.lines import Line
from trainer.speech.options import SpeechOptions
from trainer.speech.request import SynthesisRequest, TextFrontEnd
from trainer.speech.speech import Speech
from trainer.speech.voice import Voice
from trainer.tools.speak_lines import LinesResult, LinesSpeaker

LINES = [Line("a", "One."), Line("b", "Two. Three."), Line("c", "Drei.", "de"), Line("d", "Four.", None, "Anna")]
ANNA = Voice("Anna", (np.ones([8, 80], np.float32),), None)  # type: ignore[arg-type]


class Speaker:
    """Speaks tones; dies before text number `lives`, and finds problems with texts that hold `odd`."""

    languages = ("eng_Latn", "deu_Latn")

    def __init__(self, run: Path, *, lives: int = 1_000, weights: str = "weights"):
        path = run / "checkpoint.safetensors"
        if not path.exists() or path.read_text() != weights:
            path.write_text(weights)
        self.run, self.lives, self.weight_files = run, lives, [path]
        self.front_end = TextFrontEnd(run, languages=self.languages)
        self.spoken: list[tuple[str, str | None]] = []

    def speak_batch(
        self, requests: Sequence[SynthesisRequest], *, voice: Voice | None, **_: object
    ) -> Iterator[Speech]:
        assert len({request.language for request in requests}) == 1
        for request in requests:
            if len(self.spoken) == self.lives:
                raise KeyboardInterrupt
            text = " ".join(piece.text for piece in request.pieces)
            self.spoken.append((text, voice and voice.name))
            pieces = [tone_piece(piece) for piece in request.pieces]
            problems = ("odd",) if "odd" in text else ()
            yield Speech(tuple(piece._replace(problems=problems) for piece in pieces), RATE_HZ)


def speak(
    folder: Path,
    speaker: Speaker,
    lines: list[Line] = LINES,
    *,
    seed: int = 1,
    suffix: str = ".wav",
    log: Callable[[str], object] = str,
) -> LinesResult:
    voices = {None: None, "Anna": ANNA}
    lines_speaker = LinesSpeaker(speaker, voices=voices, options=SpeechOptions(seed), out=folder / "out")  # type: ignore[arg-type]
    return lines_speaker.speak(lines, language="en", suffix=suffix, log=log)


def manifest(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "out" / "manifest.jsonl").read_text("utf-8").split("\n") if line]


def test_each_text_has_a_file_and_a_row(tmp_path: Path) -> None:
    speaker = Speaker(tmp_path)
    result = speak(tmp_path, speaker)
    assert speaker.spoken == [("Drei.", None), ("One.", None), ("Two. Three.", None), ("Four.", "Anna")]
    rows = manifest(tmp_path)
    assert [(row["id"], row["language"], row["voice"]) for row in rows] == [
        ("a", "eng_Latn", None),
        ("b", "eng_Latn", None),
        ("c", "deu_Latn", None),
        ("d", "eng_Latn", "Anna"),
    ]
    for row in rows:
        assert soundfile.info(tmp_path / "out" / row["file"]).duration == pytest.approx(row["duration_s"], abs=1e-3)
    assert (result.spoken, result.skipped, result.implausible) == (4, 0, [])
    assert result.duration_s == pytest.approx(sum(row["duration_s"] for row in rows))


@pytest.mark.parametrize("lives", range(4))
def test_after_a_kill_only_what_is_missing_is_spoken(tmp_path: Path, lives: int) -> None:
    with pytest.raises(KeyboardInterrupt):
        speak(tmp_path, Speaker(tmp_path, lives=lives))
    with (tmp_path / "out" / "manifest.jsonl").open("ab") as file:
        file.write(b'{"id": "b", "file": "b.w')  # cut off within a row
    again = Speaker(tmp_path)
    result = speak(tmp_path, again)
    assert (len(again.spoken), result.skipped) == (4 - lives, lives)
    undisturbed = tmp_path / "undisturbed"
    undisturbed.mkdir()
    speak(undisturbed, Speaker(tmp_path))
    assert manifest(tmp_path) == manifest(undisturbed)
    for path in (undisturbed / "out").iterdir():
        assert (tmp_path / "out" / path.name).read_bytes() == path.read_bytes()


def test_a_text_is_spoken_again_if_anything_of_it_has_changed(tmp_path: Path) -> None:
    speak(tmp_path, Speaker(tmp_path))
    changed = Speaker(tmp_path)
    speak(tmp_path, changed, [LINES[0]._replace(text="New."), LINES[1]._replace(voice="Anna"), *LINES[2:]])
    assert changed.spoken == [("New.", None), ("Two. Three.", "Anna")]
    (tmp_path / "out" / "c.wav").unlink()
    missing = Speaker(tmp_path)
    speak(tmp_path, missing, LINES[2:])
    assert missing.spoken == [("Drei.", None)]
    for change in ({"seed": 2}, {"suffix": ".flac"}):
        other = Speaker(tmp_path)
        speak(tmp_path, other, LINES[2:], **change)
        assert len(other.spoken) == 2
    speak(tmp_path, Speaker(tmp_path), LINES[2:])
    trained_on = Speaker(tmp_path, weights="other weights")
    speak(tmp_path, trained_on, LINES[2:])
    assert len(trained_on.spoken) == 2
    vocoder = tmp_path / "vocos.safetensors"
    vocoder.write_text("weights")
    vocoded = Speaker(tmp_path)
    vocoded.weight_files.append(vocoder)
    speak(tmp_path, vocoded, LINES[2:])
    assert len(vocoded.spoken) == 2


def test_files_of_texts_that_are_gone_are_named(tmp_path: Path) -> None:
    speak(tmp_path, Speaker(tmp_path))
    (tmp_path / "out" / "b.wav").unlink()
    said: list[str] = []
    speak(tmp_path, Speaker(tmp_path), LINES[2:3], log=said.append)
    assert said[-1] == f"{tmp_path}/out: not of these texts, left by earlier ones: a.wav, d.wav"


def test_implausible_texts_are_named_also_those_of_an_earlier_run(tmp_path: Path) -> None:
    lines = [Line("a", "odd one"), Line("b", "fine\u2028one")]
    assert speak(tmp_path, Speaker(tmp_path), lines).implausible == ["a"]
    again = speak(tmp_path, Speaker(tmp_path), lines)
    assert (again.skipped, again.implausible) == (2, ["a"])
    assert [row["problems"] for row in manifest(tmp_path)] == [["odd"], []]


def test_a_text_that_cannot_be_spoken_is_named_before_anything_is_spoken(tmp_path: Path) -> None:
    speaker = Speaker(tmp_path)
    with pytest.raises(UserError, match=r"^b: the text: no letter or digit in it, only SNOWMAN"):
        speak(tmp_path, speaker, [Line("a", "One."), Line("b", "☃")])
    assert speaker.spoken == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    with pytest.raises(UserError, match="out: cannot be written"):
        speak(tmp_path, Speaker(tmp_path))
