"""Forty times kill -9 at a random moment of a build, a repair or a replay: forty good endings."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from shared.dataset import Dataset
from tests.pipelines import builds, damage

CLIPS = 32  # each another recording: a copy in both splits would be a finding
SHARD = 5
KILLS = {"build": 16, "repair": 12, "replay": 12}
PATIENCE_S = 120.0


def words(corpus: Path, *more: str) -> list[str]:
    return builds.overrides_for(
        corpus, f"utterances_per_shard={SHARD}", "validation_fraction=0.2", "max_rejected_fraction=1", *more
    )


class Scene:
    """A dataset before and after a command, byte for byte."""

    def __init__(self, folder: Path):
        self.corpus, self.before, self.after = folder / "corpus", folder / "before", folder / "after"

    def command(self, name: str, *, data: Path) -> list[str]:
        if name == "build":
            return ["build", builds.LJSPEECH_CONFIG, *words(self.corpus), "--data", str(data)]
        return [name, "--data", str(data)]


def prepare_build(scene: Scene) -> None:
    """Other thresholds and half of the shards before."""
    older = words(scene.corpus, "utterances_per_shard=10", "checks.max_duration_s=2.3")
    builds.build(scene.before, config=builds.LJSPEECH_CONFIG, overrides=older)
    builds.build(scene.after, config=builds.LJSPEECH_CONFIG, overrides=words(scene.corpus))


def prepare_repair(scene: Scene) -> None:
    """Three damaged shards and a vocabulary that is gone."""
    builds.build(scene.after, config=builds.LJSPEECH_CONFIG, overrides=words(scene.corpus))
    builds.copied(scene.after, to=scene.before)
    for number, path in enumerate(sorted((scene.before / "shards").iterdir())[:3]):
        damage.flip(path, position=100 * number + 50)
    (scene.before / "vocab.json").unlink()


def prepare_replay(scene: Scene) -> None:
    """Four recordings that were broken when the dataset was built."""
    wavs = sorted((scene.corpus / "wavs").iterdir())[:32:8]
    good = {path: path.read_bytes() for path in wavs}
    for path in wavs:
        path.unlink()
        path.write_bytes(b"RIFF")
    builds.build(scene.before, config=builds.LJSPEECH_CONFIG, overrides=words(scene.corpus))
    for path, content in good.items():
        path.write_bytes(content)
    builds.build(scene.after, config=builds.LJSPEECH_CONFIG, overrides=words(scene.corpus))


PREPARE = {"build": prepare_build, "repair": prepare_repair, "replay": prepare_replay}


def state(data: Path) -> dict[str, bytes]:
    """The dataset's files; what is in the making, and what was put aside, is none of it."""
    other, found = (".staging/", "quarantine/", "validation/"), builds.content(data)
    return {name: one for name, one in found.items() if not name.startswith(other) and not name.endswith(".tmp")}


def at_work(data: Path) -> bool:
    lock = data / ".lock"
    return lock.is_file() and lock.stat().st_size > 0


def wait_for(true: Callable[[], bool], *, process: subprocess.Popen[str]) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while not true() and process.poll() is None:
        assert time.monotonic() < end_s
        time.sleep(0.005)


def work_s(scene: Scene, name: str, *, data: Path) -> float:
    """How long the command holds the lock, undisturbed."""
    process = builds.start(*scene.command(name, data=data))
    wait_for(lambda: at_work(data), process=process)
    started_s = time.monotonic()
    wait_for(lambda: not at_work(data), process=process)
    length_s = time.monotonic() - started_s
    assert process.wait(PATIENCE_S) == 0, process.communicate()
    return length_s


@pytest.mark.slow
@pytest.mark.parametrize("name", KILLS)
def test_whenever_a_command_is_killed_the_dataset_is_whole_and_the_next_run_ends_as_an_undisturbed_one(
    name: str, tmp_path: Path, command: Callable
) -> None:
    scene, chance = Scene(tmp_path), random.Random(name)
    builds.make_corpus(scene.corpus, clips=CLIPS)
    PREPARE[name](scene)
    before, after = state(scene.before), state(scene.after)
    assert before != after
    length_s = work_s(scene, name, data=builds.copied(scene.before, to=tmp_path / "undisturbed"))
    assert state(tmp_path / "undisturbed") == after
    outcomes, killed = [], 0
    for number in range(KILLS[name]):
        data = builds.copied(scene.before, to=tmp_path / str(number))
        process = builds.start(*scene.command(name, data=data))
        wait_for(lambda data=data: at_work(data), process=process)
        time.sleep(chance.uniform(0, length_s))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        killed += process.returncode == -signal.SIGKILL
        if name != "repair":  # which starts from a dataset that cannot be opened
            Dataset.open(data)
            outcomes.append(state(data) == after)
            assert outcomes[-1] or state(data) == before
        outcome = command(*scene.command(name, data=data))
        assert outcome.code == 0, outcome.err
        assert state(data) == after
        assert not (data / ".staging").exists()
        assert not (data / ".publication.json").exists()
        assert not list(data.rglob("*.tmp"))
    assert name == "repair" or False in outcomes, "no kill came before the publication"
    assert killed > KILLS[name] / 2, "most came after the end"
