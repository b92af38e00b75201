"""Replay: what was rejected comes in once its cause is gone, and only its shard is written anew."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.replay import replay_dataset
from pipelines.validation.validate import validate_dataset
from shared.dataset import Dataset
from tests.pipelines import builds

CLIPS = 24


class Rebuilt:
    """A corpus with faults, and its dataset."""

    def __init__(self, folder: Path):
        self.corpus = builds.make_corpus(folder / "corpus", clips=CLIPS)
        for path in sorted((self.corpus / "wavs").iterdir()):
            good = path.read_bytes()
            path.unlink()
            path.write_bytes(good)
        self.folder, self.data = folder, folder / "data"

    def wav(self, number: int) -> Path:
        return self.corpus / f"wavs/C{number:05d}.wav"

    def spoil(self, number: int) -> bytes:
        good = self.wav(number).read_bytes()
        self.wav(number).write_bytes(b"RIFF")
        return good

    def words(self) -> list[str]:
        return builds.overrides_for(
            self.corpus, "utterances_per_shard=5", "validation_fraction=0.2", "max_rejected_fraction=1"
        )

    def build(self, name: str = "data") -> Path:
        return builds.build(self.folder / name, config=builds.LJSPEECH_CONFIG, overrides=self.words())

    def inodes(self) -> dict[str, int]:
        return {path.name: path.stat().st_ino for path in (self.data / "shards").iterdir()}


@pytest.fixture
def faulty(tmp_path: Path) -> Rebuilt:
    return Rebuilt(tmp_path)


def shard_of(data: Path, utterance: str) -> str:
    manifest = Dataset.open(data).manifest
    rows = [*manifest("train").to_pylist(), *manifest("validation").to_pylist()]
    (shard,) = (row["shard"] for row in rows if row["utterance_id"] == utterance)
    return shard


def test_a_mended_recording_comes_in_and_the_other_shards_keep_their_files(faulty: Rebuilt) -> None:
    good = faulty.spoil(4)
    faulty.spoil(9)
    faulty.build()
    before = faulty.inodes()
    faulty.wav(4).write_bytes(good)
    replay = replay_dataset(faulty.data)
    assert (replay.tried, replay.gained) == (2, ("ljspeech/C00004",))
    shard = shard_of(faulty.data, "ljspeech/C00004")
    assert replay.shards == (shard,)
    after = faulty.inodes()
    assert [name for name in after if after[name] != before[name]] == [f"{shard}.tfrecord"]
    assert validate_dataset(faulty.data).findings == []
    assert builds.content(faulty.data) == builds.content(faulty.build("fresh"))


def test_a_recording_that_was_not_there_comes_in_once_it_is(faulty: Rebuilt) -> None:
    good = faulty.wav(7).read_bytes()
    faulty.wav(7).unlink()
    faulty.build()
    faulty.wav(7).write_bytes(good)
    assert replay_dataset(faulty.data).gained == ("ljspeech/C00007",)
    assert builds.content(faulty.data) == builds.content(faulty.build("fresh"))


def test_a_mended_row_of_the_metadata_comes_in_under_its_own_id(faulty: Rebuilt) -> None:
    """Its rejection went by the number of the line, maybe into another shard's table."""
    metadata = faulty.corpus / "metadata.csv"
    rows = metadata.read_text().splitlines()
    metadata.write_text("\n".join([*rows[:6], "C00006 no separator", *rows[7:]]) + "\n")
    faulty.build()
    assert sum(source.rejected for source in Dataset.open(faulty.data).info.sources.values()) == 1
    metadata.write_text("\n".join(rows) + "\n")
    assert replay_dataset(faulty.data).gained == ("ljspeech/C00006",)
    assert builds.content(faulty.data) == builds.content(faulty.build("fresh"))


def test_what_still_cannot_be_read_changes_nothing(faulty: Rebuilt, command: Callable) -> None:
    faulty.spoil(4)
    faulty.build()
    before = builds.content(faulty.data)
    outcome = command("replay", "--data", faulty.data)
    assert (outcome.code, outcome.out) == (
        0,
        f"{faulty.data}: 1 rejected tried again, 0 utterances can be read now\n",
    )
    assert builds.content(faulty.data) == before


@pytest.mark.slow
def test_other_changes_of_the_same_shard_are_told_and_stop_it(faulty: Rebuilt, command: Callable) -> None:
    good = faulty.spoil(4)
    faulty.build()
    before = builds.content(faulty.data)
    shard = shard_of(faulty.build("fresh"), "ljspeech/C00001")  # where any other utterance stands
    faulty.wav(4).write_bytes(good)
    mended = faulty.build("mended")
    shard = shard_of(mended, "ljspeech/C00004")
    rows = Dataset.open(mended).manifest(shard.split("-")[1]).to_pylist()
    other = next(
        row["utterance_id"] for row in rows if row["shard"] == shard and row["utterance_id"] != "ljspeech/C00004"
    )
    shutil.copy(faulty.wav(0), faulty.corpus / f"wavs/{other.split('/')[1]}.wav")
    outcome = command("replay", "--data", faulty.data)
    assert outcome.code == 1
    assert f"{shard}: {other}: audio_sha256 was" in outcome.out
    assert "--accept-changes" in outcome.out
    assert {
        name: found for name, found in builds.content(faulty.data).items() if not name.startswith(".staging")
    } == before
    assert command("replay", "--data", faulty.data, "--accept-changes").code == 0
    assert builds.content(faulty.data) == builds.content(faulty.build("fresh"))


def test_there_is_nothing_to_replay_where_no_dataset_is(tmp_path: Path, command: Callable) -> None:
    outcome = command("replay", "--data", tmp_path / "none")
    assert outcome.code == 2
    assert "no such directory; wanted a dataset" in outcome.err
