"""A build reuses the finished shards of an interrupted build."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from preprocess.record import Preparation
from shared.tables import read_table
from tests.pipelines import builds, damage

CLIPS, SHARD = 40, 10


class Killed(BaseException):
    """An exception that the code under test does not catch."""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return builds.make_corpus(tmp_path / "corpus", clips=CLIPS)


def words(corpus: Path, *more: str) -> list[str]:
    return builds.overrides_for(corpus, f"utterances_per_shard={SHARD}", "validation_fraction=0", *more)


def prepared(data: Path, corpus: Path, *more: str, die_at: int | None = None) -> int:
    """The number of utterances that a build decodes; with `die_at` it is killed at that one."""
    call, calls = Preparation.__call__, itertools.count()

    def counted(self: Preparation, utterance: object) -> object:
        if next(calls) == die_at:
            raise Killed
        return call(self, utterance)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Preparation, "__call__", counted)
        try:
            builds.build(data, config=builds.LJSPEECH_CONFIG, overrides=words(corpus, *more))
        except RuntimeError as error:  # Beam wraps whatever is raised in a step
            if die_at is None or "Killed" not in str(error):
                raise
    return next(calls)


def left(data: Path) -> list[Path]:
    return sorted((data / ".staging").glob("*/prepared/*.tfrecord"))


def prepared_rows(data: Path) -> list[str]:
    """The ids of the utterances of the finished shards."""
    tables = [read_table(path) for path in (data / ".staging").glob("*/prepared/*.parquet")]
    return [name for table in tables for name in table["utterance_id"].to_pylist()]


@pytest.mark.slow
def test_the_next_build_decodes_only_unfinished_shards(corpus: Path, tmp_path: Path) -> None:
    data, fresh = tmp_path / "data", tmp_path / "fresh"
    assert prepared(fresh, corpus) == CLIPS
    prepared(data, corpus, die_at=CLIPS - 12)
    finished = len(left(data))
    assert finished >= 2
    again = prepared(data, corpus)
    assert 0 < again <= CLIPS - finished * (SHARD - 6), "shards differ in size"
    assert builds.content(data) == builds.content(fresh)
    assert not (data / ".staging").exists()


@pytest.mark.slow
def test_a_build_that_is_killed_repeatedly_ends(corpus: Path, tmp_path: Path) -> None:
    data, fresh = tmp_path / "data", tmp_path / "fresh"
    prepared(fresh, corpus)
    attempts = 0
    while not (data / "_SUCCESS").exists():
        prepared(data, corpus, die_at=18)
        attempts += 1
        assert attempts < 5
    assert attempts > 1
    assert builds.content(data) == builds.content(fresh)


@pytest.mark.slow
def test_shards_with_another_preparation_fingerprint_are_not_reused(corpus: Path, tmp_path: Path) -> None:
    data, fresh = tmp_path / "data", tmp_path / "fresh"
    prepared(fresh, corpus, "mel_dtype=float32")
    prepared(data, corpus, die_at=CLIPS - 12)
    assert prepared(data, corpus, "mel_dtype=float32") == CLIPS
    assert builds.content(data) == builds.content(fresh)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip(path: Path) -> None:
    damage.flip(path, position=path.stat().st_size // 2)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.slow
@pytest.mark.parametrize(
    "spoil", [flip, cut, *(pytest.param(one, marks=pytest.mark.soak) for one in (empty, Path.unlink))]
)
@pytest.mark.parametrize("kind", ["prepared/*.tfrecord", "prepared/*.parquet", "failed/*.parquet"])
def test_files_damaged_by_a_crash_of_the_machine_are_made_again(
    spoil: Callable, kind: str, corpus: Path, tmp_path: Path
) -> None:
    """Files in the staging folder are not synced to the disk before the publication."""
    data, fresh = tmp_path / "data", tmp_path / "fresh"
    prepared(fresh, corpus)
    prepared(data, corpus, die_at=CLIPS - 12)
    files = list((data / ".staging").glob(f"*/{kind}"))
    assert files
    for path in files:
        spoil(path)
    prepared(data, corpus)
    assert builds.content(data) == builds.content(fresh)


@pytest.mark.slow
def test_a_changed_corpus_is_prepared_again(corpus: Path, tmp_path: Path) -> None:
    data, fresh = tmp_path / "data", tmp_path / "fresh"
    prepared(data, corpus, die_at=CLIPS - 12)
    wav = corpus / "wavs/C00000.wav"
    content = (corpus / "wavs/C00001.wav").read_bytes()
    left_over = prepared_rows(data)
    for path in (corpus / "wavs").iterdir():
        good = path.read_bytes() if path != wav else content
        path.unlink()
        path.write_bytes(good)
    changed = "ljspeech/C00000" in left_over
    assert prepared(data, corpus) == CLIPS - len(left_over) + changed, "every file is another one, one has other bytes"
    prepared(fresh, corpus)
    assert builds.content(data) == builds.content(fresh)


@pytest.mark.slow
def test_unknown_files_in_the_staging_folder_are_removed(corpus: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / ".staging/old/prepared").mkdir(parents=True)
    (data / ".staging/file").write_text("")
    prepared(data, corpus)
    assert not (data / ".staging").exists()
    shutil.rmtree(data)
