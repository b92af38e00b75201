"""Builds with a text normalizer of the user's own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from shared.dataset import Dataset
from tests.pipelines import builds
from tests.preprocess import normalizers

pytestmark = pytest.mark.slow


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(normalizers.install(tmp_path / "packages")))


def corpus(folder: Path) -> Path:
    """A corpus of four clips, whose texts all have the word `loud`."""
    root = builds.make_corpus(folder, clips=4)
    rows = [line.split("|") for line in (root / "metadata.csv").read_text().splitlines()]
    said = "|".join(["It is loud and clear enough."] * 2)
    (root / "metadata.csv").write_text("".join(f"{row[0]}|{said}\n" for row in rows))
    return root


def texts(data: Path) -> set[str]:
    return {str(text) for text in Dataset.open(data).manifest("train").column("text").to_pylist()}


def contract(data: Path) -> Mapping[str, object]:
    return json.loads((data / "dataset.json").read_text())["contract"]  # type: ignore[no-any-return]


def test_a_build_prepares_texts_by_the_normalizer_and_its_contract_names_it(tmp_path: Path, environment: None) -> None:
    root, data = corpus(tmp_path / "corpus"), tmp_path / "data"
    words = builds.build_words(root, "validation_fraction=0", data=data)
    assert builds.run(*words).returncode == 0
    assert texts(data) == {"It is loud and clear enough."}
    assert "text_normalizer" not in contract(data)
    ended = builds.run(*words, "text_normalizer=shout", "workers=2")
    assert ended.returncode == 0, ended.stderr
    assert texts(data) == {"It is of ninety percent and clear enough."}
    assert contract(data)["text_normalizer"] == normalizers.IDENTITY
    assert "- text_normalizer shout: shouting-normalizer 1.0\n" in (data / "README.md").read_text()
    traced = builds.run("trace", "ljspeech/C00000", "--data", str(data), "--reproduce")
    assert "the same bytes" in traced.stdout
    assert "after shout of shouting-normalizer 1.0" in traced.stdout


def test_a_normalizer_that_fails_ends_the_build_in_a_line(tmp_path: Path, environment: None) -> None:
    root, data = corpus(tmp_path / "corpus"), tmp_path / "data"
    ended = builds.run(*builds.build_words(root, "text_normalizer=fails", data=data))
    assert ended.returncode == 2
    lines = [line for line in ended.stderr.splitlines() if "error" in line.lower()]
    assert len(lines) == 1, ended.stderr
    assert "text_normalizer fails of shouting-normalizer 1.0, for the text 'It is loud" in lines[0]
    assert lines[0].endswith("raised ValueError: no such word")
    assert not (data / "dataset.json").exists()


def test_a_normalizer_that_is_not_installed_is_a_mistake_of_the_user(tmp_path: Path) -> None:
    ended = builds.run(*builds.build_words(corpus(tmp_path / "corpus"), "text_normalizer=none", data=tmp_path / "data"))
    assert ended.returncode == 2
    assert "text_normalizer none: no entry point of myxtts.text_normalizers has this name" in ended.stderr


def test_a_text_is_shown_as_the_normalizer_leaves_it(environment: None) -> None:
    ended = builds.run("read", "--language", "eng_Latn", "--normalizer", "shout", "loud")
    assert ended.stdout.splitlines()[:2] == ["loud", "  of ninety percent"]
