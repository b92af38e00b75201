"""Builds that are killed, interrupted or fail: the published dataset stays, and the next build needs no help."""

from __future__ import annotations

import errno
import itertools
import os
import re
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.build import publish
from pipelines.validation.validate import validate_dataset
from preprocess.record import Preparation
from preprocess.utterance import Utterance
from shared.dataset import Dataset
from shared.tables import read_table
from tests.pipelines import builds, damage

PATIENCE_S = 120.0
POLL_S = 0.01
needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the test finds worker processes in /proc")
CLIPS = 8_000  # more than any machine prepares before it is killed


@pytest.fixture(scope="module")
def long_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return builds.make_corpus(tmp_path_factory.mktemp("long") / "corpus", clips=CLIPS)


def wait_until(true: Callable[[], object], *, process: subprocess.Popen[str]) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while not true():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < end_s
        time.sleep(POLL_S)


def children(process: subprocess.Popen[str]) -> list[int]:
    """The numbers of a driver's live worker processes, from /proc."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
            words = (path.parent / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(parent) == process.pid and state != "Z" and b"pipelines.execution.worker" in words:
            found.append(int(path.parent.name))
    return found


def wait_until_gone(pids: list[int]) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while not all(map(is_gone, pids)):
        assert time.monotonic() < end_s, "a worker outlives its driver"
        time.sleep(POLL_S)


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.fixture
def started() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts commands; kills those that are still running at the end of the test."""
    running: list[subprocess.Popen[str]] = []

    def run(*words: str, group: bool = False) -> subprocess.Popen[str]:
        running.append(builds.start(*words, group=group))
        return running[-1]

    yield run
    for process in running:
        process.kill()
        process.communicate()


def is_amid_a_shard(data: Path) -> bool:
    """Whether a record was written, but no shard is complete."""
    return any((data / ".staging").glob("*/prepared/.*.tmp")) and any((data / ".staging").glob("*/progress/*"))


@pytest.mark.slow
def test_a_killed_build_leaves_the_older_dataset_and_the_next_build_removes_its_files(
    long_corpus: Path, small: Path, spoiled: Path, started: Callable, sample: Path
) -> None:
    process = started(*builds.build_words(long_corpus, "workers=1", data=spoiled))
    wait_until(lambda: is_amid_a_shard(spoiled), process=process)
    process.kill()
    process.wait()
    assert any((spoiled / ".staging").rglob("*.tmp"))
    assert validate_dataset(spoiled).findings == []
    kept = {name: data for name, data in builds.content(spoiled).items() if not name.startswith(".staging")}
    assert kept == builds.content(small)
    builds.build(spoiled)
    assert builds.content(spoiled) == builds.content(sample)


@needs_proc
@pytest.mark.slow
def test_a_killed_worker_ends_the_build(long_corpus: Path, small: Path, spoiled: Path, started: Callable) -> None:
    process = started(*builds.build_words(long_corpus, "workers=2", data=spoiled))
    wait_until(lambda: is_amid_a_shard(spoiled), process=process)
    workers = children(process)
    assert len(workers) == 2
    os.kill(workers[0], signal.SIGKILL)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 70
    *bar, last = err.splitlines()
    assert len(bar) <= 1
    assert re.fullmatch(r"error: a worker process died \(SIGKILL\) .*; nothing was published; run again", last)
    kept = {name: data for name, data in builds.content(spoiled).items() if not name.startswith(".staging")}
    assert kept == builds.content(small)
    wait_until_gone(workers)


@needs_proc
@pytest.mark.slow
def test_the_workers_of_a_killed_driver_end(long_corpus: Path, spoiled: Path, started: Callable) -> None:
    process = started(*builds.build_words(long_corpus, "workers=2", data=spoiled))
    wait_until(lambda: is_amid_a_shard(spoiled), process=process)
    workers = children(process)
    assert len(workers) == 2
    process.kill()
    wait_until_gone(workers)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]
    if os.geteuid() != 0 or subprocess.run(words, check=False, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "workers", [pytest.param(1, id="in memory"), pytest.param(2, id="two workers", marks=pytest.mark.slow)]
)
def test_a_full_disk_is_one_line_and_leaves_the_older_dataset(
    workers: int, small_disk: Path, tmp_path: Path, command: Callable
) -> None:
    older = builds.make_corpus(tmp_path / "older", clips=3)
    data = builds.build(small_disk / "data", config=builds.LJSPEECH_CONFIG, overrides=builds.overrides_for(older))
    before = builds.content(data)
    newer = builds.make_corpus(tmp_path / "newer", clips=60)
    outcome = command(*builds.build_words(newer, f"workers={workers}", data=data))
    assert outcome.code == 2
    last = outcome.err.splitlines()[-1]
    assert last == f"error: {data}: the disk is full; nothing was published; make room and run the build again"
    assert "Traceback" not in outcome.err
    assert {name: found for name, found in builds.content(data).items() if not name.startswith(".staging")} == before


@pytest.mark.parametrize("lucky", range(11))  # the number of files that are written before the disk is full; 10 is all
def test_whenever_the_disk_fills_the_older_dataset_stays_or_the_new_one_is_complete(
    lucky: int, small: Path, spoiled: Path, tmp_path: Path, command: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus, sync, calls = builds.make_corpus(tmp_path / "corpus", clips=3), os.fsync, []

    def fsync(descriptor: int) -> None:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            calls.append(descriptor)
        if len(calls) > lucky:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    outcome = command(*builds.build_words(corpus, data=spoiled))
    monkeypatch.undo()
    found = {name: data for name, data in builds.content(spoiled).items() if not name.startswith(".staging")}
    if lucky == 10:
        assert outcome.code == 0
        assert found.keys() != builds.content(small).keys()
    else:
        assert outcome.code == 2
        assert outcome.err.splitlines()[-1].startswith(f"error: {spoiled}: the disk is full")
        assert found == builds.content(small)


@pytest.mark.slow
@pytest.mark.parametrize("lucky", range(6))  # three shards, the totals, the report, the clean cache
def test_a_full_disk_under_validation_is_one_line(
    lucky: int, small: Path, spoiled: Path, command: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace, calls = Path.replace, itertools.count()

    def full(path: Path, target: Path) -> Path:
        if next(calls) >= lucky:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", full)
    outcome = command("validate", "--data", str(spoiled))
    monkeypatch.undo()
    assert outcome.code == 2
    assert "No space left on device" in outcome.err.splitlines()[-1]
    assert "Traceback" not in outcome.err
    assert not list(spoiled.rglob("*.tmp"))
    assert builds.content(spoiled) == builds.content(small)


def shards_done(data: Path, *, at_least: int) -> bool:
    return len(list((data / ".staging").glob("*/prepared/*.parquet"))) >= at_least


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize("times", [1, pytest.param(3, marks=pytest.mark.soak)])
def test_an_interrupt_while_the_workers_start_ends_the_build(
    times: int, long_corpus: Path, tmp_path: Path, started: Callable
) -> None:
    """A worker that the runner has not met yet would wait for work forever, and the runner for the worker's end."""
    process = started(*builds.build_words(long_corpus, "workers=2", data=tmp_path / "data"), group=True)
    wait_until(lambda: len(children(process)) == 2, process=process)
    workers = children(process)
    for _ in range(times):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(1.0)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert err.splitlines()[-1].startswith("interrupted: ")
    assert "Traceback" not in err
    wait_until_gone(workers)


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.soak), 2])
def test_an_interrupt_is_one_line_and_the_next_build_reuses_the_finished_shards(
    workers: int,
    small: Path,
    spoiled: Path,
    tmp_path: Path,
    started: Callable,
    command: Callable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ctrl-C reaches the driver and its workers, as in a terminal."""
    corpus = builds.make_corpus(tmp_path / "corpus", clips=300)
    words = builds.build_words(
        corpus, f"workers={workers}", "utterances_per_shard=10", "validation_fraction=0", data=spoiled
    )
    process = started(*words, group=True)
    wait_until(lambda: shards_done(spoiled, at_least=3), process=process)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert (
        err.splitlines()[-1]
        == "interrupted: the dataset is either unchanged or complete; run the same command again to continue"
    )
    assert "Traceback" not in err
    kept = {name: data for name, data in builds.content(spoiled).items() if not name.startswith(".staging")}
    assert kept == builds.content(small)
    tables = [read_table(path) for path in spoiled.rglob("prepared/*.parquet")]
    assert len(tables) >= 3
    tables.append(Dataset.open(spoiled).manifest("train"))  # copies of its clips are in the new corpus
    known = {name for table in tables for name in table["utterance_id"].to_pylist()}
    prepare, calls = Preparation.__call__, itertools.count()

    def counted(self: Preparation, utterance: Utterance) -> object:
        next(calls)
        return prepare(self, utterance)

    monkeypatch.setattr(Preparation, "__call__", counted)
    outcome = command(*words, "workers=1")
    assert outcome.code == 0
    assert "ended while it prepared" not in outcome.err, "the user ended the build, and no recording"
    assert next(calls) == 300 - len(known)
    assert validate_dataset(spoiled).findings == []
    assert not list((spoiled / ".staging").rglob("*.tmp"))


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """A bind mount of another folder."""
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "disk"
    elsewhere.mkdir()
    folder.mkdir()
    mount(elsewhere, folder)
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=False, capture_output=True)


def mount(elsewhere: Path, folder: Path) -> None:
    words = ["mount", "--bind", elsewhere, folder]
    if os.geteuid() != 0 or subprocess.run(words, check=False, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")


@pytest.mark.parametrize("words", [("build",), ("repair",), ("replay",), ("report",)], ids="".join)
def test_a_read_only_output_is_one_line_and_changes_nothing(
    words: tuple[str, ...], mounted: Path, tmp_path: Path, command: Callable
) -> None:
    corpus = builds.make_corpus(tmp_path / "corpus", clips=3)
    data = builds.build(mounted / "data", config=builds.LJSPEECH_CONFIG, overrides=builds.overrides_for(corpus))
    before = builds.content(data)
    subprocess.run(["mount", "-o", "remount,bind,ro", mounted], check=True)
    newer = builds.make_corpus(tmp_path / "newer", clips=6)
    outcome = command(*(builds.build_words(newer, data=data) if words == ("build",) else [*words, "--data", str(data)]))
    assert outcome.code == 2
    last = outcome.err.splitlines()[-1]
    assert last.startswith("error: ")
    assert str(data) in last
    assert "Read-only file system" in last
    assert "Traceback" not in outcome.err
    assert builds.content(data) == before


def test_a_read_only_dataset_is_validated_and_the_report_is_not_kept(
    mounted: Path, small: Path, command: Callable
) -> None:
    data = builds.copied(small, to=mounted / "data")
    before = builds.content(data)
    for code, name in ((0, None), (1, damage.stems(data)[0])):
        if name is not None:
            damage.flip(data / f"shards/{name}.tfrecord", position=100)
            before = builds.content(data)
        subprocess.run(["mount", "-o", "remount,bind,ro", mounted], check=True)
        outcome = command("validate", "--data", str(data))
        subprocess.run(["mount", "-o", "remount,bind,rw", mounted], check=True)
        assert outcome.code == code
        assert ("clean: " in outcome.out) == (code == 0)
        assert "Read-only file system: the report is not kept" in outcome.err
        assert "report:" not in outcome.out
        assert not (data / "validation").exists()
        assert builds.content(data) == before


@needs_proc
@pytest.mark.slow
def test_an_unmount_during_a_build_leaves_the_older_dataset_and_the_next_build_continues(
    mounted: Path, tmp_path: Path, started: Callable, command: Callable
) -> None:
    older = builds.make_corpus(tmp_path / "older", clips=3)
    data = builds.build(mounted / "data", config=builds.LJSPEECH_CONFIG, overrides=builds.overrides_for(older))
    before = builds.content(data)
    corpus = builds.make_corpus(tmp_path / "corpus", clips=300)
    words = builds.build_words(corpus, "workers=1", "utterances_per_shard=10", "validation_fraction=0", data=data)
    process = started(*words)
    wait_until(lambda: shards_done(data, at_least=3), process=process)
    subprocess.run(["umount", "--lazy", mounted], check=True)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2
    assert err.splitlines()[-1].startswith(f"error: {data}")
    assert "No such file or directory" in err.splitlines()[-1]
    assert "Traceback" not in err
    assert list(mounted.iterdir()) == [], "nothing is written into the folder below the mount"
    mount(tmp_path / "elsewhere", mounted)
    assert {name: found for name, found in builds.content(data).items() if not name.startswith(".staging")} == before
    assert command(*words).code == 0
    assert validate_dataset(data).findings == []


class Killed(BaseException):
    """An exception that the code under test does not catch."""


CALLS = ((Path, "replace"), (Path, "unlink"), (os, "link"), (os, "fsync"))


def die_in_publication(number: int, *, data: Path, corpus: Path) -> bool:
    """Build over a dataset; raise Killed at this file-system call of the publication. False: there are fewer calls."""
    publishing, calls = publish.publish, itertools.count()

    def fragile(call: Callable) -> Callable:
        def or_die(*words: Any, **options: Any) -> Any:
            if next(calls) == number:
                raise Killed
            return call(*words, **options)

        return or_die

    def publish_fragile(*words: Any, **options: Any) -> publish.Published:
        with pytest.MonkeyPatch.context() as patch:
            for owner, name in CALLS:
                patch.setattr(owner, name, fragile(getattr(owner, name)))
            return publishing(*words, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipelines.build.job.publish", publish_fragile)
        try:
            builds.build(data, config=builds.LJSPEECH_CONFIG, overrides=builds.overrides_for(corpus))
        except Killed:
            return True
    return False


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (
            errno.ENOSPC,
            "the disk is full; the new dataset is published, but not all of its files have their names yet;",
        ),
        (errno.EIO, "Input/output error; the new dataset is published, but not all of its files have their names yet;"),
    ],
)
def test_a_disk_that_fails_amid_the_renamings_is_reported_as_that(
    number: int, expected: str, spoiled: Path, tmp_path: Path, command: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus, replace = builds.make_corpus(tmp_path / "corpus", clips=3), Path.replace

    def fail(path: Path, target: Path) -> Path:
        if target == spoiled / "vocab.json" or target == spoiled / "dataset.json":
            raise OSError(number, os.strerror(number), str(target))
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", fail)
    outcome = command(*builds.build_words(corpus, data=spoiled))
    monkeypatch.undo()
    assert outcome.code == 2
    assert expected in outcome.err.splitlines()[-1]
    assert not (spoiled / "_SUCCESS").exists()
    assert sum(shard.records for shard in Dataset.open(spoiled).info.shards) == 3, (
        "whatever opens it finishes the renamings"
    )


def published(data: Path) -> dict[str, bytes]:
    """The files of the dataset after a reader has opened it, without the staging folder."""
    Dataset.open(data)
    return {name: found for name, found in builds.content(data).items() if not name.startswith(".staging")}


@pytest.mark.slow
@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.soak)])
def test_a_kill_within_publishing_leaves_the_older_dataset_or_the_new_one(
    every: int, small: Path, tmp_path: Path
) -> None:
    """At every n-th call to the file system."""
    corpus = builds.make_corpus(tmp_path / "corpus", clips=3)
    fresh = builds.build(tmp_path / "fresh", config=builds.LJSPEECH_CONFIG, overrides=builds.overrides_for(corpus))
    older, newer, outcomes = builds.content(small), builds.content(fresh), []
    for number in itertools.count(step=every):
        data = builds.copied(small, to=tmp_path / str(number))
        if not die_in_publication(number, data=data, corpus=corpus):
            break
        found = published(data)
        assert found in (older, newer)
        outcomes.append(found == newer)
        builds.build(data, config=builds.LJSPEECH_CONFIG, overrides=builds.overrides_for(corpus))
        assert builds.content(data) == newer
    assert outcomes == sorted(outcomes), "the older dataset, then the new one"
    assert outcomes.count(False) > 4 // every
    assert outcomes.count(True) > 20 // every


@pytest.mark.slow
def test_a_folder_among_the_shards_of_an_older_dataset_is_kept_and_reported(spoiled: Path) -> None:
    (spoiled / "shards" / "mine").mkdir()
    builds.build(spoiled)
    assert [(one.file, one.check) for one in validate_dataset(spoiled).findings] == [("shards/mine", "stray")]
