"""Unlisted files in DATA: a build never removes or replaces them, and a repair moves them into quarantine."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.repair.repair import repair_dataset
from pipelines.validation.validate import validate_dataset
from tests.pipelines import builds, damage


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return builds.make_corpus(tmp_path / "corpus", clips=3)


@pytest.mark.parametrize(
    "name", ["shards/mine.txt", "withheld/mine/x", "manifest", "config.yaml", "report.html", "croissant.json"]
)
def test_a_first_build_refuses_a_folder_with_files_of_the_same_names(
    name: str, corpus: Path, tmp_path: Path, command: Callable
) -> None:
    """The user typed `DATA=~`, a folder with other files."""
    home = tmp_path / "home"
    (home / name).parent.mkdir(parents=True)
    (home / name).write_text("mine")
    outcome = command(*builds.build_words(corpus, data=home))
    assert outcome.code == 2
    assert outcome.err.startswith(f"error: {home}: holds no dataset, but {name.removesuffix('/x')}, which a")
    assert outcome.err.count("\n") == 1
    assert (home / name).read_text() == "mine"


@pytest.mark.slow
def test_a_build_keeps_unlisted_files_and_a_repair_moves_them_into_quarantine(spoiled: Path, corpus: Path) -> None:
    """A shard of another dataset may have been moved in by mistake, and there may be no other copy of it."""
    other = "shards/other-train-00000-of-00001.tfrecord"
    for name in ("shards/mine.txt", other, "withheld/mine/x"):
        (spoiled / name).parent.mkdir(exist_ok=True)
        (spoiled / name).write_text(name)
    builds.build(spoiled, config=builds.LJSPEECH_CONFIG, overrides=builds.overrides_for(corpus))
    found = {(one.file, one.check) for one in validate_dataset(spoiled).findings}
    assert found == {(name, "stray") for name in ("shards/mine.txt", other, "withheld/mine")}
    repair = repair_dataset(spoiled)
    assert set(repair.changed) == {"shards/mine.txt", other, "withheld/mine"}
    assert repair.quarantine is not None
    assert [(repair.quarantine / name).read_text() for name in ("shards/mine.txt", other, "withheld/mine/x")] == [
        *("shards/mine.txt", other, "withheld/mine/x")
    ]
    assert validate_dataset(spoiled).findings == []
    assert len(damage.stems(spoiled)) == 1, "those of the older dataset are gone"


def test_a_build_refuses_to_replace_a_shard_that_the_dataset_does_not_list(
    spoiled: Path, corpus: Path, command: Callable
) -> None:
    unlisted = spoiled / "shards/ljspeech-train-00000-of-00001.tfrecord"
    unlisted.write_text("of another dataset")
    before = builds.content(spoiled)
    outcome = command(*builds.build_words(corpus, "validation_fraction=0", data=spoiled))
    assert outcome.code == 2
    assert f"error: {unlisted}: a build would replace this file, which the dataset does not list" in outcome.err
    assert builds.content(spoiled) == before


@pytest.mark.parametrize("lost", [("dataset.json",), ("_SUCCESS",), ("dataset.json", "_SUCCESS")], ids="+".join)
def test_a_dataset_without_readable_lists_is_built_again(lost: tuple[str, ...], spoiled: Path, small: Path) -> None:
    """The error messages of the readers say: run `make preprocess` again."""
    for name in lost:
        (spoiled / name).write_text("damaged")
    corpus = small.parent / "corpus"
    overrides = builds.overrides_for(corpus, "utterances_per_shard=4", "validation_fraction=0.3")
    builds.build(spoiled, config=builds.LJSPEECH_CONFIG, overrides=overrides)
    assert builds.content(spoiled) == builds.content(small)


def test_a_build_reports_a_linked_folder_of_the_dataset_before_it_starts(
    spoiled: Path, corpus: Path, tmp_path: Path, command: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it decodes anything, because hours later the publication would fail."""
    shutil.move(spoiled / "shards", tmp_path / "elsewhere")
    (spoiled / "shards").symlink_to(tmp_path / "elsewhere")
    monkeypatch.delattr("pipelines.build.prepare_shards.prepare_shard")
    before = builds.content(tmp_path / "elsewhere")
    outcome = command(*builds.build_words(corpus, data=spoiled))
    assert outcome.code == 2
    assert f"error: {spoiled / 'shards'}: is a link; expected a folder" in outcome.err
    assert builds.content(tmp_path / "elsewhere") == before
