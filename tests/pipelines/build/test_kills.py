"""kill -9 during a build, a repair or a replay: the dataset stays complete, and the next run finishes the work."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shared.dataset import Dataset
from tests.pipelines import builds, damage
from tests.pipelines.kill_points import Commands

CLIPS = 32  # as many as the sample has recordings: a copy in both splits would be a finding
SHARD = 5
JOURNAL = ".publication.json"
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
    """Before: other thresholds, and half as many shards."""
    older = words(scene.corpus, "utterances_per_shard=10", "checks.max_duration_s=2.3")
    builds.build(scene.before, config=builds.LJSPEECH_CONFIG, overrides=older)
    builds.build(scene.after, config=builds.LJSPEECH_CONFIG, overrides=words(scene.corpus))


def prepare_repair(scene: Scene) -> None:
    """Before: three damaged shards and a missing vocabulary."""
    builds.build(scene.after, config=builds.LJSPEECH_CONFIG, overrides=words(scene.corpus))
    builds.copied(scene.after, to=scene.before)
    for number, path in enumerate(sorted((scene.before / "shards").iterdir())[:3]):
        damage.flip(path, position=100 * number + 50)
    (scene.before / "vocab.json").unlink()


def prepare_replay(scene: Scene) -> None:
    """Before: four recordings were broken when the dataset was built."""
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
    """The dataset's files, without staging, quarantine and validation reports."""
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
    """How long an undisturbed command holds the lock."""
    process = builds.start(*scene.command(name, data=data))
    wait_for(lambda: at_work(data), process=process)
    started_s = time.monotonic()
    wait_for(lambda: not at_work(data), process=process)
    length_s = time.monotonic() - started_s
    assert process.wait(PATIENCE_S) == 0, process.communicate()
    return length_s


@pytest.fixture(scope="module")
def commands() -> Iterator[Commands]:
    started = Commands()
    yield started
    started.close()


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Scene]:
    """The datasets before and after each command, built once."""
    made: dict[str, Scene] = {}

    def scene_of(name: str) -> Scene:
        if name not in made:
            made[name] = Scene(tmp_path_factory.mktemp(name))
            builds.make_corpus(made[name].corpus, clips=CLIPS)
            PREPARE[name](made[name])
        return made[name]

    return scene_of


def check_finished(scene: Scene, *, data: Path) -> None:
    """The dataset is that of an undisturbed run, and nothing of the killed one is left."""
    assert state(data) == state(scene.after)
    assert not (data / ".staging").exists()
    assert not (data / JOURNAL).exists()
    assert not list(data.rglob("*.tmp"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["build", "repair", pytest.param("replay", marks=pytest.mark.soak)])
def test_a_command_killed_before_its_journal_changes_nothing_and_after_it_everything(
    name: str, scenes: Callable[[str], Scene], commands: Commands, tmp_path: Path, command: Callable
) -> None:
    """Killed before a change of the file system: amid the work, on both sides of the journal, amid the renamings."""
    scene = scenes(name)
    data = builds.copied(scene.before, to=tmp_path / "undisturbed")
    ended = commands.run(*scene.command(name, data=data), data=data)
    assert ended.code == 0
    assert state(data) == state(scene.after) != state(scene.before)
    first = ended.changes.index(JOURNAL)
    last = len(ended.changes) - 1 - ended.changes[::-1].index(JOURNAL)
    kills = [("", first // 2), (JOURNAL, 0), (JOURNAL, 1), (JOURNAL, (last - first) // 2)]
    for start, number in kills:
        data = builds.copied(scene.before, to=tmp_path / f"{start}{number}")
        killed = commands.run(*scene.command(name, data=data), data=data, start=start, kill_before=number)
        assert killed.code == -signal.SIGKILL
        if start and number:
            Dataset.open(data)  # whatever opens it finishes the renamings
            assert state(data) == state(scene.after)
        else:
            assert state(data) == state(scene.before)
        outcome = command(*scene.command(name, data=data))
        assert outcome.code == 0, outcome.err
        check_finished(scene, data=data)


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("name", KILLS)
def test_whenever_a_command_is_killed_the_dataset_is_complete_and_the_next_run_ends_as_an_undisturbed_one(
    name: str, scenes: Callable[[str], Scene], tmp_path: Path, command: Callable
) -> None:
    scene, chance = scenes(name), random.Random(name)
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
        check_finished(scene, data=data)
    assert name == "repair" or False in outcomes, "no kill came before the publication"
    assert killed > KILLS[name] / 2, "most came after the end"
