"""The Makefile passes what a user gives to the programs unchanged, and chooses sensible defaults."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest


def test_a_model_is_asked_for_the_language_and_the_voice_of_the_sample_only_where_it_learned_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def asked(*words: str) -> str:
        return subprocess.run(["make", "-n", "synthesize", *words], capture_output=True, text=True, check=True).stdout

    voice = '--reference "tests/corpora/english/wavs/EN001-0001.wav"'
    assert voice in asked()
    assert "--language eng_Latn" in asked()
    assert "--reference" not in asked("RUN=runs/lj")
    assert "--language" not in asked("RUN=runs/lj"), "a run of one language speaks it"
    assert "--language fa" in asked("RUN=runs/lj", "LANGUAGE=fa")
    monkeypatch.setenv("LANGUAGE", "en_US:en")  # as on desktops, for gettext
    assert "--language" not in asked("RUN=runs/lj")
    assert '--reference "a clip.wav"' in asked("RUN=runs/lj", "REFERENCE=a clip.wav")


def test_make_says_every_character_of_a_text(tmp_path: Path) -> None:
    """The command is one that writes down what it is given."""
    text = r"""It costs $20, $$40 or "100 %", isn't it? `no` \\ #1 $(shell false) ${ $( b"""
    heard = tmp_path / "heard"
    command = tmp_path / "myxtts-speak"
    command.write_text(f'#!/bin/sh\nwhile [ $1 != -- ]; do shift; done\nprintf %s "$3" > {heard}\n', encoding="utf-8")
    command.chmod(0o755)
    made = [f"BIN={tmp_path}", "READY="]
    for words, environment in ([f"TEXT={text}"], {}), ([], {"TEXT": text}):
        subprocess.run(["make", "synthesize", *made, *words], env=os.environ | environment, check=True)
        assert heard.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("version", ["3.10", "3.13"])
def test_an_environment_is_not_begun_with_another_python_than_the_package_asks_for(
    tmp_path: Path, version: str
) -> None:
    asked = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]
    assert asked == ">=3.11,<3.13"
    python = tmp_path / "python"
    told = f"import sys; sys.version_info = ({version.replace('.', ', ')}, 0); exec(sys.argv[1])"
    python.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{told}' \"$2\"\n", encoding="utf-8")
    python.chmod(0o755)
    words = ["make", "--file", Path("Makefile").absolute(), "setup", f"PYTHON={python}"]
    for name in ("pyproject.toml", "requirements.lock"):
        (tmp_path / name).touch()
    made = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert f"{python} is Python {version}, expected 3.11 or 3.12: make setup PYTHON=python3.12" in made.stderr
    assert not (tmp_path / ".venv").exists()


@pytest.mark.parametrize(
    ("given", "taken"), [("~/my  clip ~/x.wav", f"{Path.home()}/my  clip ~/x.wav"), ("a ^ b.wav", "a ^ b.wav")]
)
def test_make_takes_names_with_spaces_and_names_at_home(given: str, taken: str) -> None:
    words = ["make", "-n", "synthesize", "READY=", f"REFERENCE={given}", f"OUT={given}"]
    asked = subprocess.run(
        words, env=os.environ | {"HOME": str(Path.home())}, capture_output=True, text=True, check=True
    )
    assert f'--reference "{taken}" --out "{taken}"' in asked.stdout


@pytest.mark.parametrize(
    ("target", "takes"),
    [
        *((one, "CONFIG DATA") for one in ("preprocess", "repair", "replay", "inspect-input", "profile", "tune")),
        *((one, "DATA") for one in ("validate", "trace", "report")),
        *((one, "RUN") for one in ("monitor", "synthesize", "export")),
        *((one, "RUN DATA") for one in ("doctor", "evaluate", "evaluate-speech", "vocoder-mels")),
        *((one, "CONFIG DATA RUN") for one in ("train", "vocoder")),
    ],
)
def test_paths_with_spaces_are_one_word(target: str, takes: str) -> None:
    given = {"CONFIG": "~/my config.yaml", "DATA": "my data/d", "RUN": "my runs/r"}
    words = ["make", "-n", target, "READY=", *(f"{name}={value}" for name, value in given.items())]
    asked = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert {name for name, value in given.items() if f'"{value.replace("~", str(Path.home()))}"' in asked} >= {
        *takes.split()
    }
    assert re.sub(r'"[^"]*"', "", asked).count("my ") == 0


@pytest.mark.parametrize(("config", "name"), [("learn_check", "learn"), ("learn_check_voices", "learn_voices")])
def test_a_learn_check_has_folders_of_its_own(config: str, name: str) -> None:
    words = ["make", "-n", "train", f"CONFIG=configs/{config}.yaml"]
    asked = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert f'--data "data/{name}/data" --run "runs/{name}" ' in asked


def test_the_level_of_the_learn_check_chooses_its_corpus_and_its_judge() -> None:
    words = ["make", "-n", "learn-check", "RUN=runs/mine"]
    asked = subprocess.run([*words, "LEVEL=voices"], capture_output=True, text=True, check=True).stdout
    assert 'build "configs/preprocess_learn_check_voices.yaml" --data "data/learn_voices/data"' in asked
    assert 'train "configs/learn_check_voices.yaml" --data "data/learn_voices/data" --run "runs/mine"' in asked
    assert "-m tests.learn.many_voices.check runs/mine data/learn_voices/corpus" in asked
    asked = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert "-m tests.learn.check runs/mine data/learn/data" in asked
    refused = subprocess.run([*words, "LEVEL=voice"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "LEVEL=voice: expected LEVEL=voices or none" in refused.stderr
