"""A build that was cut short is carried on from the shards that it had finished."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from preprocess.record import Preparation
from tests.pipelines import builds, damage

CLIPS, SHARD = 40, 10


class Killed(BaseException):
    """Nothing that the code may catch."""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return builds.make_corpus(tmp_path / "corpus", clips=CLIPS)


def words(corpus: Path, *more: str) -> list[str]:
    return builds.overrides_for(corpus, f"utterances_per_shard={SHARD}", "validation_fraction=0", *more)


def prepared(data: Path, corpus: Path, *more: str, die_at: int | None = None) -> int:
    """How many utterances a build decodes, which dies at the one of this number."""
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
    return sorted((data / ".staging").glob("*/measured/*.tfrecord"))


def test_the_next_build_decodes_only_what_was_not_finished(corpus: Path, tmp_path: Path) -> None:
    data, fresh = tmp_path / "data", tmp_path / "fresh"
    assert prepared(fresh, corpus) == CLIPS
    prepared(data, corpus, die_at=CLIPS - 12)
    finished = len(left(data))
    assert finished >= 2
    again = prepared(data, corpus)
    assert 0 < again <= CLIPS - finished * (SHARD - 6), "shards differ in size"
    assert builds.content(data) == builds.content(fresh)
    assert not (data / ".staging").exists()


def test_a_build_that_is_cut_short_again_and_again_ends(corpus: Path, tmp_path: Path) -> None:
    data, fresh = tmp_path / "data", tmp_path / "fresh"
    prepared(fresh, corpus)
    attempts = 0
    while not (data / "_SUCCESS").exists():
        prepared(data, corpus, die_at=18)
        attempts += 1
        assert attempts < 5
    assert attempts > 1
    assert builds.content(data) == builds.content(fresh)


def test_shards_of_another_kind_of_measuring_are_not_taken_over(corpus: Path, tmp_path: Path) -> None:
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


@pytest.mark.parametrize("spoil", [empty, flip, cut, Path.unlink])
@pytest.mark.parametrize("kind", ["measured/*.tfrecord", "measured/*.parquet", "refused/*.parquet"])
def test_what_a_crash_of_the_machine_spoiled_is_made_anew(
    spoil: Callable, kind: str, corpus: Path, tmp_path: Path
) -> None:
    """Nothing in the staging folder is brought to the disk before it is published."""
    data, fresh = tmp_path / "data", tmp_path / "fresh"
    prepared(fresh, corpus)
    prepared(data, corpus, die_at=CLIPS - 12)
    for path in (data / ".staging").glob(f"*/{kind}"):
        spoil(path)
    prepared(data, corpus)
    assert builds.content(data) == builds.content(fresh)


def test_a_changed_corpus_is_measured_anew(corpus: Path, tmp_path: Path) -> None:
    data, fresh = tmp_path / "data", tmp_path / "fresh"
    prepared(data, corpus, die_at=CLIPS - 12)
    wav = corpus / "wavs/C00000.wav"
    content = (corpus / "wavs/C00001.wav").read_bytes()
    for path in (corpus / "wavs").iterdir():
        if path != wav:
            good = path.read_bytes()
            path.unlink()
            path.write_bytes(good)
    wav.unlink()
    wav.write_bytes(content)
    assert prepared(data, corpus) == CLIPS, "every file is another one"
    prepared(fresh, corpus)
    assert builds.content(data) == builds.content(fresh)


def test_strangers_in_the_staging_folder_go(corpus: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / ".staging/old/measured").mkdir(parents=True)
    (data / ".staging/file").write_text("")
    prepared(data, corpus)
    assert not (data / ".staging").exists()
    shutil.rmtree(data)
