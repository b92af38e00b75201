"""Builds and validations on a real Flink cluster; some lose a worker, a TaskManager or a disk."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Callable
from pathlib import Path

import apache_beam as beam
import pytest

from pipelines.build.build_dataset import build_dataset
from pipelines.config import BuildConfig
from pipelines.execution.flink.cluster import Cluster
from pipelines.execution.flink.jobs import JobFailed
from pipelines.execution.runners import run_graph
from pipelines.validation.validate import validate_dataset
from shared.config import load_config
from shared.errors import UserError
from tests.pipelines import builds, clusters
from tests.pipelines.build.test_multilingual import CONFIG, overrides

pytestmark = pytest.mark.slow


def graph_name() -> str:
    return f"test-{uuid.uuid4().hex}"


def test_a_build_on_flink_gives_the_bytes_of_a_build_in_memory(flink: Cluster, sample: Path, tmp_path: Path) -> None:
    build_dataset(builds.config_of([], config=builds.SAMPLE_CONFIG), data=tmp_path / "data", runner="flink")
    assert builds.content(tmp_path / "data") == builds.content(sample)


@pytest.mark.soak
def test_memory_processes_and_flink_give_the_same_bytes(reference: Path, flink: Cluster, tmp_path: Path) -> None:
    found = {}
    for name, runner, workers in (("memory", "local", 1), ("processes", "local", 2), ("flink", "flink", None)):
        config = load_config(CONFIG, of=BuildConfig, overrides=overrides(reference))
        build_dataset(config.model_copy(update={"workers": workers}), data=tmp_path / name, runner=runner)
        found[name] = builds.content(tmp_path / name)
    assert len(found["memory"]) > 30
    assert found["processes"] == found["memory"]
    assert found["flink"] == found["memory"]


def test_a_validation_on_flink_finds_a_flipped_bit_and_nothing_else(flink: Cluster, spoiled: Path) -> None:
    shard = sorted((spoiled / "shards").iterdir())[1]
    data = bytearray(shard.read_bytes())
    data[len(data) // 2] ^= 1
    shard.write_bytes(data)
    here, there = (validate_dataset(spoiled, runner=runner).findings for runner in ("local", "flink"))
    assert {one.file for one in there} == {f"shards/{shard.name}"}
    assert sorted(there, key=repr) == sorted(here, key=repr)


@pytest.fixture(scope="module")
def long_build(tmp_path_factory: pytest.TempPathFactory) -> tuple[BuildConfig, dict[str, bytes]]:
    """The config of a build of some twenty shards, and the files that an undisturbed build writes."""
    folder = tmp_path_factory.mktemp("long")
    corpus = builds.make_corpus(folder / "corpus", clips=900)
    words = builds.overrides_for(corpus, "utterances_per_shard=45")
    config = load_config(builds.LJSPEECH_CONFIG, of=BuildConfig, overrides=words)
    build_dataset(config, data=folder / "data")
    return config, builds.content(folder / "data")


@pytest.mark.parametrize(
    "kill", [clusters.kill_a_worker, pytest.param(clusters.kill_a_task_manager, marks=pytest.mark.soak)]
)
def test_a_kill_during_a_build_changes_no_byte(
    kill: Callable[[Cluster], None], flink: Cluster, long_build: tuple[BuildConfig, dict[str, bytes]], tmp_path: Path
) -> None:
    config, undisturbed = long_build
    data, done = tmp_path / "data", []

    def disturb() -> None:
        kill(flink)
        done.append(kill)

    thread = clusters.after_some_progress(data / ".staging", disturb, from_=24)
    build_dataset(config, data=data, runner="flink")
    thread.join()
    assert done == [kill]
    assert clusters.failures(flink, clusters.newest_job(flink)) != [], "the kill came too late"
    assert builds.content(data) == undisturbed
    assert kill is clusters.kill_a_worker or clusters.wait_for_no_worker()


def _raise(element: int, *, error: type[BaseException]) -> None:
    raise error(f"element {element} is to blame")


def raising(error: type[BaseException]) -> Callable[[beam.Pipeline], object]:
    return lambda pipeline: pipeline | beam.Create([7]) | beam.Map(_raise, error=error)


def test_a_user_error_is_one_line_and_is_not_retried(flink: Cluster) -> None:
    with pytest.raises(UserError) as caught:
        run_graph(raising(UserError), runner="flink", workers=1, name=graph_name())
    assert str(caught.value) == "element 7 is to blame"
    assert len(clusters.failures(flink, clusters.newest_job(flink))) <= 2


@pytest.mark.soak
def test_other_exceptions_are_retried_and_reported_as_by_flink(flink: Cluster) -> None:
    with pytest.raises(JobFailed, match=r"is FAILED(?s:.*)ZeroDivisionError: element 7 is to blame"):
        run_graph(raising(ZeroDivisionError), runner="flink", workers=1, name=graph_name())
    assert len(clusters.failures(flink, clusters.newest_job(flink))) == 6


def test_a_build_on_flink_prints_its_bar_and_its_table_only(flink: Cluster, tmp_path: Path) -> None:
    corpus = builds.make_corpus(tmp_path / "corpus", clips=12)
    words = builds.build_words(corpus, data=tmp_path / "data")
    answer = subprocess.run([builds.COMMAND, *words, "--runner", "flink"], capture_output=True, text=True, check=False)
    assert answer.returncode == 0
    lines = answer.stderr.splitlines()
    assert len(lines) == 1
    assert "2 workers" in lines[0]
    assert "12/12" in lines[0]
    assert "12" in answer.stdout


def test_a_disk_error_in_a_worker_is_reported_in_one_line(flink: Cluster, tmp_path: Path, command: Callable) -> None:
    """The test moves the folder of prepared shards away while the job runs."""
    corpus = builds.make_corpus(tmp_path / "corpus", clips=120)
    words = builds.build_words(corpus, "utterances_per_shard=10", data=tmp_path / "data")

    def spoil() -> None:
        paused = clusters.pause(flink)
        for folder in (tmp_path / "data/.staging").glob("*/prepared"):
            folder.rename(folder.with_name("away"))
        clusters.resume(paused)

    thread = clusters.after_some_progress(tmp_path / "data/.staging", spoil, from_=1)
    outcome = command(*words, "--runner", "flink")
    thread.join()
    assert outcome.code == 2
    assert "No such file or directory; nothing was published" in outcome.err.splitlines()[-1]
    assert len(clusters.failures(flink, clusters.newest_job(flink))) <= 2, "the job is not retried"
