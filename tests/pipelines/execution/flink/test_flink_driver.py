"""A killed driver leaves its job on the cluster: the next run waits for it or cancels it; two never write at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.execution import leftover_jobs
from pipelines.execution.flink.cluster import Cluster
from pipelines.execution.flink.jobs import find_job, running_jobs
from shared.lock_holder import LockHolder
from tests.pipelines import builds, clusters

CLIPS = 160
LIMIT_S = 120.0

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return builds.make_corpus(tmp_path_factory.mktemp("driver") / "corpus", clips=CLIPS)


def words(corpus: Path, *more: str, data: Path) -> list[str]:
    return builds.build_words(corpus, "utterances_per_shard=8", *more, data=data)


def kill_a_driver(corpus: Path, *, cluster: Cluster, data: Path) -> tuple[LockHolder, list[int]]:
    """Kill a driver during its build; the holder in its lock, and the process ids of the paused workers."""
    process = builds.start(*words(corpus, data=data), "--runner", "flink")
    paused: list[int] = []

    def kill() -> None:
        paused.extend(clusters.pause(cluster))
        process.kill()

    clusters.after_some_progress(data / ".staging", kill, from_=16).join()
    process.communicate()
    assert process.returncode == -9
    return LockHolder.model_validate_json((data / ".lock").read_bytes()), paused


def resume_before(action: Callable, paused: list[int]) -> Callable:
    """Wrap an action: resume the workers, then act."""

    def resume_and_act(*words: object, **options: object) -> object:
        clusters.resume(paused)
        return action(*words, **options)

    return resume_and_act


@pytest.fixture(scope="module")
def undisturbed(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    data = tmp_path_factory.mktemp("undisturbed") / "data"
    overrides = builds.overrides_for(corpus, "utterances_per_shard=8")
    return builds.content(builds.build(data, config=builds.LJSPEECH_CONFIG, overrides=overrides))


def test_the_next_run_waits_for_the_job_and_uses_its_shards(
    flink: Cluster,
    corpus: Path,
    undisturbed: dict[str, bytes],
    tmp_path: Path,
    command: Callable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = tmp_path / "data"
    left, paused = kill_a_driver(corpus, cluster=flink, data=data)
    monkeypatch.setattr(leftover_jobs, "wait_for_job", resume_before(leftover_jobs.wait_for_job, paused))
    assert left.job is not None
    job = find_job(left.job.master, name=left.job.name)
    assert job is not None
    assert not job.ended
    outcome = command(*words(corpus, data=data), "--runner", "flink")
    assert outcome.code == 0
    assert f"{left.job.name} of an earlier driver still runs" in outcome.err
    assert "waiting for its shards" in outcome.err
    ended = find_job(left.job.master, name=left.job.name)
    assert ended is not None
    assert ended.state == "FINISHED"
    assert builds.content(data) == undisturbed
    assert (data / ".lock").read_bytes() == b""


def test_a_run_after_the_end_of_the_job_uses_its_shards_on_any_runner(
    flink: Cluster, corpus: Path, undisturbed: dict[str, bytes], tmp_path: Path, command: Callable
) -> None:
    data = tmp_path / "data"
    left, paused = kill_a_driver(corpus, cluster=flink, data=data)
    clusters.resume(paused)
    end_s = time.monotonic() + LIMIT_S
    while running_jobs(flink.master):
        assert time.monotonic() < end_s
        time.sleep(0.2)
    outcome = command(*words(corpus, data=data))
    assert outcome.code == 0
    assert left.job is not None
    assert left.job.name not in outcome.err, "the job is neither looked for nor waited for"
    assert builds.content(data) == undisturbed


def test_a_job_of_another_config_is_cancelled(
    flink: Cluster, corpus: Path, tmp_path: Path, command: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    left, paused = kill_a_driver(corpus, cluster=flink, data=data)
    monkeypatch.setattr(leftover_jobs, "cancel_job", resume_before(leftover_jobs.cancel_job, paused))
    outcome = command(*words(corpus, "mel_dtype=float32", data=data))
    assert outcome.code == 0
    assert "it is cancelled" in outcome.err
    assert left.job is not None
    ended = find_job(left.job.master, name=left.job.name)
    assert ended is not None
    assert ended.state == "CANCELED"
    overrides = builds.overrides_for(corpus, "utterances_per_shard=8", "mel_dtype=float32")
    fresh = builds.build(tmp_path / "fresh", config=builds.LJSPEECH_CONFIG, overrides=overrides)
    assert builds.content(data) == builds.content(fresh)


def test_an_unreachable_cluster_stops_the_run_unless_the_lock_is_broken(
    corpus: Path, tmp_path: Path, command: Callable
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    job = {"master": "localhost:1", "name": "myxtts-build-x", "work": "", "since": "2026-01-01T00:00:00Z"}
    left = LockHolder.of_this_process("build").model_dump() | {"pid": 1, "job": job}
    (data / ".lock").write_text(LockHolder.model_validate(left).model_dump_json())
    small = words(corpus, "sources.ljspeech.max_utterances=20", data=data)
    outcome = command(*small)
    assert outcome.code == 2
    assert "left the job myxtts-build-x on localhost:1, which cannot be reached" in outcome.err
    assert "--break-lock" in outcome.err
    assert command(*small).code == 2, "it is not forgotten"
    assert command(*small, "--break-lock").code == 0
    assert command(*small).code == 0
