"""Listeners: by name, absent packages, and what each is asked."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from shared.errors import UserError
from trainer.evaluation import listeners
from trainer.evaluation.listeners import RATE_HZ, PocketsphinxListener, open_listener

SOUND = np.sin(np.arange(22_050) / 20).astype(np.float32)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("whisper", "listener 'whisper': expected none, pocketsphinx[:MODEL], faster-whisper[:MODEL], "),
        ("none:model", "listener 'none:model': expected none, "),
        ("faster-whisper:small", "faster-whisper not installed; pip install faster-whisper"),
        ("pocketsphinx:/nowhere.jsgf", "listener pocketsphinx:/nowhere.jsgf: .*No such file"),
    ],
)
def test_a_listener_that_there_is_not_is_named(name: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faster_whisper", None)
    with pytest.raises(UserError, match=why.replace("[", r"\[")):
        open_listener(name)


def test_none_is_no_listener() -> None:
    assert open_listener("none") is None


def test_a_grammar_limits_what_pocketsphinx_hears_and_silence_is_nothing(tmp_path: Path) -> None:
    path = tmp_path / "words.jsgf"
    path.write_text("#JSGF V1.0;\ngrammar words;\npublic <text> = (tiger | lady)+;\n")
    listener = open_listener(f"pocketsphinx:{path}")
    assert listener is not None
    assert listener.hears("eng_Latn")
    assert not listener.hears("deu_Latn")
    assert listener.transcribe(np.zeros(22_050), rate_hz=22_050, language="eng_Latn") == ""
    assert isinstance(listener, PocketsphinxListener)


def test_a_grammar_with_a_mistake_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "words.jsgf"
    path.write_text("tiger")
    with pytest.raises(UserError, match="listener pocketsphinx:"):
        open_listener(f"pocketsphinx:{path}")


def fake_package(monkeypatch: pytest.MonkeyPatch, name: str, **contents: object) -> None:
    package = ModuleType(name)
    package.__spec__ = SimpleNamespace(name=name)  # type: ignore[assignment]
    package.__dict__.update(contents)
    monkeypatch.setitem(sys.modules, name, package)


def test_faster_whisper_gets_sound_at_its_rate_and_the_language(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    class WhisperModel:
        supported_languages = ("en", "de", "no")

        def __init__(self, model: str, *, device: str):
            asked.append((model, device))

        def transcribe(self, sound: np.ndarray, *, language: str) -> tuple[list[SimpleNamespace], None]:
            asked.append((len(sound), sound.dtype.name, language))
            return [SimpleNamespace(text=" Guten "), SimpleNamespace(text=" Tag")], None

    fake_package(monkeypatch, "faster_whisper", WhisperModel=WhisperModel)
    listener = open_listener("faster-whisper:folder")
    assert listener is not None
    assert listener.hears("deu_Latn")
    assert listener.hears("nob_Latn")  # iso_639_1 gives nb, Whisper has no
    assert not listener.hears("kik_Latn")
    assert listener.transcribe(SOUND, rate_hz=22_050, language="deu_Latn") == "Guten Tag"
    silence = 2 * int(listeners.SILENCE_S * RATE_HZ)
    assert asked == [("folder", "cpu"), (RATE_HZ + silence, "float32", "de")]


@pytest.mark.parametrize(
    ("kind", "names", "languages", "options"),
    [
        ("whisper", {"<|de|>": 1}, (True, False), {"generate_kwargs": {"language": "de"}}),
        ("whisper", None, (False, True), {}),  # of English alone
        ("wav2vec2", None, (True, True), {}),
    ],
)
def test_transformers_gets_sound_with_its_rate(
    kind: str,
    names: dict[str, int] | None,
    languages: tuple[bool, bool],
    options: dict[str, object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Pipeline:
        model = SimpleNamespace(
            config=SimpleNamespace(model_type=kind), generation_config=SimpleNamespace(lang_to_id=names)
        )

        def __call__(self, given: dict[str, Any], **found: object) -> dict[str, str]:
            assert given["sampling_rate"] == RATE_HZ
            is_long = len(given["raw"]) > 30 * RATE_HZ
            assert found == options | ({"return_timestamps": True} if is_long and kind == "whisper" else {})
            return {"text": "Guten Tag"}

    def pipeline(task: str, *, model: str, device: str) -> Pipeline:
        assert (task, model, device) == ("automatic-speech-recognition", "some/model", "cpu")
        return Pipeline()

    fake_package(monkeypatch, "transformers", pipeline=pipeline)
    listener = open_listener("transformers:some/model")
    assert listener is not None
    assert (listener.hears("deu_Latn"), listener.hears("eng_Latn")) == languages
    for sound in (SOUND, np.tile(SOUND, 40)):
        assert listener.transcribe(sound, rate_hz=22_050, language="deu_Latn") == "Guten Tag"
    with pytest.raises(UserError, match="listener transformers: no model; expected transformers:MODEL"):
        open_listener("transformers")
