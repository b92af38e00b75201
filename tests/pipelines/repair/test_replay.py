"""Replay adds rejected utterances whose cause is fixed, and writes only their shards."""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pipelines.repair import replay
from pipelines.repair.replay import replay_dataset
from pipelines.validation.validate import validate_dataset
from shared.dataset import Dataset
from shared.errors import UserError
from tests.pipelines import builds

CLIPS = 24


class Rebuilt:
    """A corpus whose clips can be damaged, and its dataset."""

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


@pytest.mark.slow
def test_a_fixed_recording_is_added_and_the_other_shards_keep_their_files(faulty: Rebuilt) -> None:
    good = faulty.spoil(4)
    faulty.spoil(9)
    faulty.build()
    before = faulty.inodes()
    faulty.wav(4).write_bytes(good)
    done = replay_dataset(faulty.data)
    assert (done.tried, done.recovered) == (2, ("ljspeech/C00004",))
    shard = shard_of(faulty.data, "ljspeech/C00004")
    assert done.shards == (shard,)
    after = faulty.inodes()
    assert [name for name in after if after[name] != before[name]] == [f"{shard}.tfrecord"]
    assert validate_dataset(faulty.data).findings == []
    assert builds.content(faulty.data) == builds.content(faulty.build("fresh"))


@pytest.mark.slow
def test_a_missing_recording_is_added_once_it_exists(faulty: Rebuilt) -> None:
    good = faulty.wav(7).read_bytes()
    faulty.wav(7).unlink()
    faulty.build()
    faulty.wav(7).write_bytes(good)
    assert replay_dataset(faulty.data).recovered == ("ljspeech/C00007",)
    assert builds.content(faulty.data) == builds.content(faulty.build("fresh"))


@pytest.mark.slow
def test_a_fixed_metadata_row_is_added_under_its_own_id(faulty: Rebuilt) -> None:
    """Its rejection has the line number as id and may be in the table of another shard."""
    metadata = faulty.corpus / "metadata.csv"
    rows = metadata.read_text().splitlines()
    metadata.write_text("\n".join([*rows[:6], "C00006 no separator", *rows[7:]]) + "\n")
    faulty.build()
    assert sum(source.rejected for source in Dataset.open(faulty.data).info.sources.values()) == 1
    metadata.write_text("\n".join(rows) + "\n")
    assert replay_dataset(faulty.data).recovered == ("ljspeech/C00006",)
    assert builds.content(faulty.data) == builds.content(faulty.build("fresh"))


def cut(wav: Path, *, seconds: float) -> bytes:
    good = wav.read_bytes()
    samples, rate_hz = soundfile.read(wav, dtype="int16")
    soundfile.write(wav, samples[: int(seconds * rate_hz)], rate_hz)
    return good


@pytest.mark.slow
def test_a_truncated_and_filtered_recording_is_added_once_it_is_complete(faulty: Rebuilt, command: Callable) -> None:
    good = cut(faulty.wav(4), seconds=0.3)
    cut(faulty.wav(9), seconds=0.3)  # stays truncated
    faulty.build()
    before = faulty.inodes()
    faulty.wav(4).write_bytes(good)
    outcome = command("replay", "--data", faulty.data)
    assert outcome.code == 0
    assert f"{faulty.data}: rejected utterances: 1 tried again, 1 recovered\n  ljspeech/C00004\n" in outcome.out
    assert "filtered by a threshold" not in outcome.out
    shard = shard_of(faulty.data, "ljspeech/C00004")
    after = faulty.inodes()
    assert [name for name in after if after[name] != before[name]] == [f"{shard}.tfrecord"]
    assert validate_dataset(faulty.data).findings == []
    assert builds.content(faulty.data) == builds.content(faulty.build("fresh"))


@pytest.mark.slow
def test_an_utterance_that_a_threshold_filters_again_is_reported(faulty: Rebuilt, command: Callable) -> None:
    cut(faulty.wav(4), seconds=0.2)
    faulty.build()
    soundfile.write(faulty.wav(4), np.full(6000, 1000, np.int16), 22050)
    outcome = command("replay", "--data", faulty.data)
    assert outcome.code == 0
    assert "  ljspeech/C00004: filtered by a threshold\n" in outcome.out
    assert f"1 utterance filtered by a threshold; reasons: {faulty.data}/rejected" in outcome.out
    assert builds.content(faulty.data) == builds.content(faulty.build("fresh"))


@pytest.mark.slow
def test_a_full_disk_in_a_worker_is_one_line(faulty: Rebuilt, monkeypatch: pytest.MonkeyPatch) -> None:
    faulty.spoil(4)
    faulty.build()

    def full(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(replay, "write_json", full)
    message = f"^{re.escape(str(faulty.data))}: the disk is full; nothing was published; make room"
    with pytest.raises(UserError, match=message):
        replay_dataset(faulty.data)


@pytest.mark.slow
def test_an_utterance_that_still_cannot_be_read_changes_nothing(faulty: Rebuilt, command: Callable) -> None:
    faulty.spoil(4)
    faulty.build()
    before = builds.content(faulty.data)
    outcome = command("replay", "--data", faulty.data)
    assert (outcome.code, outcome.out) == (
        0,
        f"{faulty.data}: rejected utterances: 1 tried again, 0 recovered\n",
    )
    assert builds.content(faulty.data) == before


@pytest.mark.slow
def test_other_changes_of_the_same_shard_are_reported_and_stop_the_replay(faulty: Rebuilt, command: Callable) -> None:
    good = faulty.spoil(4)
    faulty.build()
    before = builds.content(faulty.data)
    shard = shard_of(faulty.build("fresh"), "ljspeech/C00001")  # where any other utterance stands
    faulty.wav(4).write_bytes(good)
    fixed = faulty.build("fixed")
    shard = shard_of(fixed, "ljspeech/C00004")
    rows = Dataset.open(fixed).manifest(shard.split("-")[1]).to_pylist()
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


def test_replay_needs_a_dataset(tmp_path: Path, command: Callable) -> None:
    outcome = command("replay", "--data", tmp_path / "none")
    assert outcome.code == 2
    assert "no such directory; expected a dataset" in outcome.err
