"""The README says what is true."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from preprocess.check_config import CheckConfig
from preprocess.checks import ALL_BOUNDS, Bound
from shared.records import FIELDS

README = Path("README.md").read_text(encoding="utf-8")


def test_the_record_table_is_that_of_the_code() -> None:
    rows = [line for line in README.splitlines() if re.match(r"\| `\w+` \| (bytes|int64)", line)]
    assert rows == [f"| `{one.name}` | {one.kind} | {one.shape} | {one.unit} | {one.meaning} |" for one in FIELDS]


def test_the_table_of_checks_is_that_of_the_code() -> None:
    rows = [line for line in README.splitlines() if re.match(r"\| `\w+` \| `\w+` \| `(min|max)_", line)]
    defaults = CheckConfig()

    def shown(bound: Bound) -> str:
        value = getattr(defaults, bound.threshold)
        return "off" if value is None else f"{value:g}{bound.unit}"

    assert rows == [f"| `{one.reason}` | `{one.column}` | `{one.threshold}` | {shown(one)} |" for one in ALL_BOUNDS]
    assert f"from the language's median | {defaults.characters_per_second_deviations:g} |" in README


def test_every_make_target_that_the_readme_names_is_in_the_makefile() -> None:
    named = set(re.findall(r"make ([a-z-]+)", README))
    targets = set(re.findall(r"^([a-z-]+):", Path("Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert {"quickstart", "preprocess", "validate", "train", "synthesize", "test"} <= named
    assert named - targets == {"are"}  # "Python 3.11 or 3.12 and make are all"


def test_the_tree_names_every_module_and_no_other() -> None:
    tree = next(block for block in README.split("```") if block.lstrip().startswith("shared/ "))
    named, folder = set(), Path()
    for word in re.findall(r"\w+/?", tree):
        if word.endswith("/"):
            folder = Path(word) if Path(word).is_dir() else Path(*folder.parts[:1]) / word
        else:
            named.add(folder / f"{word}.py")
    rooms = ("shared", "preprocess", "pipelines", "trainer")
    assert named == {path for room in rooms for path in Path(room).rglob("*.py") if path.name != "__init__.py"}


def test_a_model_is_asked_for_the_voice_of_the_sample_only_where_it_learned_it() -> None:
    def asked(*words: str) -> str:
        return subprocess.run(["make", "-n", "synthesize", *words], capture_output=True, text=True, check=True).stdout

    voice = '--reference "tests/corpora/english/wavs/EN001-0001.wav"'
    assert voice in asked()
    assert "--reference" not in asked("RUN=runs/lj")
    assert '--reference "a clip.wav"' in asked("RUN=runs/lj", "REFERENCE=a clip.wav")


def test_make_says_every_character_of_a_text(tmp_path: Path) -> None:
    """The command is one that writes down what it is given."""
    text = r"""It costs $20, $$40 or "100 %", isn't it? `no` \\ #1 $(shell false) ${ $( b"""
    heard = tmp_path / "heard"
    command = tmp_path / "myxtts-train"
    command.write_text(
        f'#!/bin/sh\nwhile [ $1 != --text ]; do shift; done\nprintf %s "$2" > {heard}\n', encoding="utf-8"
    )
    command.chmod(0o755)
    made = [f"BIN={tmp_path}", "READY="]
    for words, environment in ([f"TEXT={text}"], {}), ([], {"TEXT": text}):
        subprocess.run(["make", "synthesize", *made, *words], env=os.environ | environment, check=True)
        assert heard.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("given", "taken"), [("~/my  clip ~/x.wav", f"{Path.home()}/my  clip ~/x.wav"), ("a ^ b.wav", "a ^ b.wav")]
)
def test_make_takes_names_with_spaces_and_names_at_home(given: str, taken: str) -> None:
    words = ["make", "-n", "synthesize", "READY=", f"REFERENCE={given}", f"OUT={given}"]
    asked = subprocess.run(
        words, env=os.environ | {"HOME": str(Path.home())}, capture_output=True, text=True, check=True
    )
    assert f'--reference "{taken}" --out "{taken}"' in asked.stdout


def test_the_learn_check_has_folders_of_its_own() -> None:
    words = ["make", "-n", "train", "CONFIG=configs/learn_check.yaml"]
    asked = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert "--data data/learn/data --run runs/learn" in asked
