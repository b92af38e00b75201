"""Files that exist but cannot be read, as on a bad sector: they are reported and made again."""

from __future__ import annotations

import errno
import io
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.repair.repair import repair_dataset
from pipelines.validation.validate import validate_dataset
from shared.errors import UserError
from tests.pipelines import builds, damage

STEM = "{stem}"
FILES = [
    *("config.yaml", "dataset.json", "vocab.json", "_SUCCESS"),
    *(f"shards/{STEM}.tfrecord", f"manifest/{STEM}.parquet", f"rejected/{STEM}.parquet", f"withheld/{STEM}.tfrecord"),
]


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """A function that makes a file fail to open, under any of its names; a new file in its place can be read."""
    bad: dict[int, int] = {}
    opened = io.open

    def open_or_fail(file: Any, *words: Any, **options: Any) -> Any:
        number = None if isinstance(file, int) or not Path(file).exists() else bad.get(Path(file).stat().st_ino)
        if number is not None:
            raise OSError(number, os.strerror(number), str(file))
        return opened(file, *words, **options)

    monkeypatch.setattr("io.open", open_or_fail)
    monkeypatch.setattr("builtins.open", open_or_fail)
    return lambda path, number=errno.EIO: bad.update({path.stat().st_ino: number})


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_cannot_be_read_is_a_finding(name: str, spoiled: Path, fail: Callable) -> None:
    name = name.format(stem=damage.stems(spoiled)[0])
    fail(spoiled / name)
    findings = validate_dataset(spoiled, workers=1).findings
    assert (name, "unreadable") in {(one.file, one.check) for one in findings}
    assert {one.file for one in findings} == {name}
    assert {one.fix for one in findings} == {f"make repair DATA={spoiled}"}


def test_a_shard_that_cannot_be_read_is_reported_without_a_dataset_json_too(spoiled: Path, fail: Callable) -> None:
    (spoiled / "dataset.json").write_text("{")
    name = f"shards/{damage.stems(spoiled)[0]}.tfrecord"
    fail(spoiled / name)
    findings = {(one.file, one.check) for one in validate_dataset(spoiled, workers=1).findings}
    assert findings == {("dataset.json", "sha256"), ("dataset.json", "unreadable"), (name, "unreadable")}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dataset.json", *FILES[4:]])
def test_a_file_that_cannot_be_read_is_made_again(name: str, small: Path, spoiled: Path, fail: Callable) -> None:
    name = name.format(stem=damage.stems(spoiled)[0])
    fail(spoiled / name)
    repair = repair_dataset(spoiled)
    assert (repair.damaged, repair.differing, repair.remaining) == ((name,), (), ())
    assert repair.quarantine is not None
    assert (repair.quarantine / name).exists()
    shutil.rmtree(spoiled / "quarantine")
    assert builds.content(spoiled) == builds.content(small)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EMFILE], ids=["forbidden", "too many open"])
def test_a_file_without_read_permission_is_left_in_place(
    number: int, small: Path, spoiled: Path, fail: Callable
) -> None:
    path = spoiled / f"shards/{damage.stems(spoiled)[0]}.tfrecord"
    fail(path, number)
    with pytest.raises(UserError, match=f"{path}: {os.strerror(number)}"):
        repair_dataset(spoiled)
    fail(path, None)
    assert builds.content(spoiled) == builds.content(small)


def test_a_build_makes_an_unreadable_shard_again(small: Path, spoiled: Path, fail: Callable) -> None:
    fail(spoiled / f"shards/{damage.stems(spoiled)[0]}.tfrecord")
    overrides = builds.overrides_for(small.parent / "corpus", "utterances_per_shard=4", "validation_fraction=0.3")
    builds.build(spoiled, config=builds.LJSPEECH_CONFIG, overrides=overrides)
    assert builds.content(spoiled) == builds.content(small)
