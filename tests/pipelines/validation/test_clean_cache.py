"""`validate --changed`: only shards that were found clean and have not changed are taken from the cache."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.validation.validate import validate_dataset
from pipelines.validation.workdir import LOCK, PREFIX, new_workdir
from tests.pipelines import damage


@pytest.fixture
def inspected(spoiled: Path) -> Path:
    """A dataset that validation found clean."""
    assert validate_dataset(spoiled).findings == []
    return spoiled


def trusted(data: Path) -> int:
    report = validate_dataset(data, changed=True)
    assert report.records == 12
    return report.trusted


def test_unchanged_shards_are_not_read_again(inspected: Path) -> None:
    assert [trusted(inspected), trusted(inspected)] == [3, 3]


def test_without_an_earlier_validation_everything_is_read(spoiled: Path) -> None:
    assert trusted(spoiled) == 0


def test_a_full_validation_does_not_use_the_cache(inspected: Path) -> None:
    assert validate_dataset(inspected).trusted == 0


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["shards", "manifest", "rejected", "withheld"])
def test_a_shard_with_a_touched_file_is_read_again(folder: str, inspected: Path) -> None:
    stem = damage.stems(inspected)[1]
    (path, *_) = sorted((inspected / folder).glob(f"{stem}.*"))
    os.utime(path, ns=(1, 1))
    assert [trusted(inspected), trusted(inspected)] == [2, 3]


def test_a_file_replaced_by_another_of_its_size_and_time_is_read_again(inspected: Path) -> None:
    path = inspected / "shards" / f"{damage.stems(inspected)[0]}.tfrecord"
    state, copy = path.stat(), path.with_name("copy")
    shutil.copyfile(path, copy)
    damage.flip(copy, position=100)
    copy.replace(path)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    report = validate_dataset(inspected, changed=True)
    assert report.trusted == 2
    assert {finding.file for finding in report.findings} == {f"shards/{path.name}"}


def test_a_shard_with_findings_is_never_cached(inspected: Path) -> None:
    damage.flip(inspected / "shards" / f"{damage.stems(inspected)[0]}.tfrecord", position=100)
    first = validate_dataset(inspected, changed=True)
    second = validate_dataset(inspected, changed=True)
    assert first.findings
    assert (second.findings, second.trusted) == (first.findings, 2)


def test_a_recording_in_two_shards_is_found_if_one_of_them_is_cached(inspected: Path) -> None:
    train, validation = (damage.stems(inspected)[place] for place in (0, -1))
    digest: list[str] = []
    damage.edit_rows(
        inspected / "manifest" / f"{train}.parquet", change=lambda rows: digest.append(rows[0]["audio_sha256"])
    )
    damage.sign(inspected)
    assert validate_dataset(inspected).findings == []
    damage.edit_rows(
        inspected / "manifest" / f"{validation}.parquet", change=lambda rows: rows[0].update(audio_sha256=digest[0])
    )
    damage.sign(inspected)
    report = validate_dataset(inspected, changed=True)
    assert report.trusted == 2
    assert {finding.check for finding in report.findings} == {"leak"}


@pytest.mark.parametrize("damaged", [b"", b"no sum", b"0" * 64 + b"\n{}\n"])
def test_a_damaged_cache_is_ignored(damaged: bytes, inspected: Path) -> None:
    (inspected / "validation" / "trusted.jsonl").write_bytes(damaged)
    assert trusted(inspected) == 0


def test_a_flipped_bit_in_the_cache_is_detected(inspected: Path) -> None:
    damage.flip(inspected / "validation" / "trusted.jsonl", position=900)
    assert trusted(inspected) == 0


def test_totals_include_cached_shards(inspected: Path) -> None:
    damage.edit_info(inspected, change=lambda info: info["mel"]["mean"].__setitem__(7, 0.0))
    damage.seal(inspected)
    report = validate_dataset(inspected, changed=True)
    assert report.trusted == 3
    assert [(finding.file, finding.check) for finding in report.findings] == [("dataset.json", "statistics")]


@pytest.mark.slow
def test_the_command_reports_how_many_shards_were_cached(inspected: Path, command: Callable) -> None:
    outcome = command("validate", "--data", str(inspected), "--changed")
    assert outcome.code == 0
    assert "3 shards, 3 of them unchanged since they were found clean" in outcome.out
    for words in (["--full"], []):
        outcome = command("validate", "--data", str(inspected), *words)
        assert outcome.code == 0
        assert "unchanged" not in outcome.out


def test_the_work_folder_of_a_killed_run_is_removed_and_one_in_use_is_not(tmp_path: Path) -> None:
    left = tmp_path / f"{PREFIX}left"
    left.mkdir()
    (left / "some.verdict").write_text("{}")
    with new_workdir(tmp_path) as mine:
        assert not left.exists()
        with new_workdir(tmp_path) as other:
            assert mine.is_dir()
            assert other != mine
        assert mine.is_dir()
    assert list(tmp_path.iterdir()) == []


def test_without_locks_a_work_folder_is_removed_after_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", refuse)
    for name, age_s in (("new", 3600), ("old", 25 * 3600)):
        folder = tmp_path / f"{PREFIX}{name}"
        folder.mkdir()
        (folder / LOCK).touch()
        os.utime(folder / LOCK, (time.time() - age_s,) * 2)
    with new_workdir(tmp_path) as mine:
        assert {path.name for path in tmp_path.iterdir()} == {mine.name, f"{PREFIX}new"}
    assert [path.name for path in tmp_path.iterdir()] == [f"{PREFIX}new"]
