"""Builds on Spark on this machine: their bytes, and what becomes of mistakes, kills and interrupts."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import apache_beam as beam
import pytest

from pipelines.build.build_dataset import build_dataset
from pipelines.execution.runners import run_graph
from pipelines.execution.spark.checks import spark_checks
from pipelines.execution.spark.install import damaged_jars, install
from pipelines.execution.spark.runner import master_from_env
from pipelines.validation.validate import validate_dataset
from shared.errors import UserError
from tests.pipelines import builds, clusters, faulty

PATIENCE_S = 120.0


@pytest.fixture(scope="module")
def spark() -> None:
    """Spark's jars are installed; only a Maven that cannot reach them is no failure."""
    try:
        install(print)
    except UserError as error:
        pytest.skip(str(error)) if "mvn" in str(error) else pytest.fail(str(error))


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_a_build_on_spark_gives_the_bytes_of_a_build_in_memory(sample: Path, tmp_path: Path) -> None:
    config = builds.config_of(["workers=2"], config=builds.SAMPLE_CONFIG)
    build_dataset(config, data=tmp_path / "data", runner="spark")
    assert builds.content(tmp_path / "data") == builds.content(sample)


@pytest.mark.soak
@pytest.mark.usefixtures("spark")
def test_a_validation_on_spark_finds_what_a_local_one_finds(spoiled: Path) -> None:
    shard = sorted((spoiled / "shards").iterdir())[1]
    data = bytearray(shard.read_bytes())
    data[len(data) // 2] ^= 1
    shard.write_bytes(data)
    here, there = (validate_dataset(spoiled, runner=runner, workers=1).findings for runner in ("local", "spark"))
    assert here != []
    assert sorted(there, key=repr) == sorted(here, key=repr)


def _raise(element: int) -> None:
    raise UserError(f"element {element} is to blame")


@pytest.mark.soak
@pytest.mark.usefixtures("spark")
def test_a_user_error_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path.cwd()))
    with pytest.raises(UserError) as caught:
        run_graph(
            lambda pipeline: pipeline | beam.Create([7]) | beam.Map(_raise),
            runner="spark",
            workers=1,
            name=f"test-{uuid.uuid4().hex}",
        )
    assert str(caught.value) == "element 7 is to blame"


@pytest.mark.soak
@pytest.mark.usefixtures("spark")
def test_a_killed_worker_changes_no_byte(tmp_path: Path) -> None:
    corpus = builds.make_corpus(tmp_path / "corpus", clips=600)
    config = builds.config_of(builds.overrides_for(corpus, "utterances_per_shard=40", "workers=2"))
    build_dataset(config, data=tmp_path / "undisturbed")
    killed: list[int] = []

    def kill() -> None:
        killed.extend(list(clusters.worker_processes())[:1])
        os.kill(killed[0], signal.SIGKILL)

    thread = clusters.after_some_progress(tmp_path / "data/.staging", kill, from_=10)
    build_dataset(config, data=tmp_path / "data", runner="spark")
    thread.join()
    assert killed
    assert builds.content(tmp_path / "data") == builds.content(tmp_path / "undisturbed")


@pytest.mark.soak
@pytest.mark.usefixtures("spark")
def test_a_recording_that_crashes_its_decoder_is_isolated(tmp_path: Path) -> None:
    faults = {"C00003": "segfault", "C00005": "eio"}
    corpus = faulty.make_corpus(tmp_path / "corpus", faults)
    (only,) = faulty.build_to_the_end(corpus, tmp_path / "data", "workers=2", runner="spark")
    assert len(only.stderr.splitlines()) == 1
    faulty.check_rejections(tmp_path / "data", faults=faults)


@pytest.mark.soak
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_no_process_outlives_the_command(number: signal.Signals, code: int, tmp_path: Path) -> None:
    corpus = builds.make_corpus(tmp_path / "corpus", clips=4_000)
    words = builds.build_words(corpus, "workers=2", data=tmp_path / "data")
    process = builds.start(*words, "--runner", "spark", group=True)
    thread = clusters.after_some_progress(tmp_path / "data/.staging", lambda: process.send_signal(number), from_=1)
    process.communicate(timeout=PATIENCE_S)
    thread.join()
    assert process.returncode == code
    end_s = time.monotonic() + PATIENCE_S
    while _java_processes() or clusters.worker_processes():
        assert time.monotonic() < end_s
        time.sleep(0.1)


def _java_processes() -> str:
    return subprocess.run(["pgrep", "-f", "SparkJobServerDriver"], capture_output=True, text=True, check=False).stdout


def test_a_master_that_is_no_cluster_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_MASTER", raising=False)
    assert master_from_env(3) == "local[3,4]"
    monkeypatch.setenv("SPARK_MASTER", "spark://head:7077")
    assert master_from_env(3) == "spark://head:7077"
    for wrong in ("head:7077", "yarn", "spark://head", "spark://head:7077/x"):
        monkeypatch.setenv("SPARK_MASTER", wrong)
        with pytest.raises(UserError, match=r"expected spark://host:port"):
            master_from_env(3)


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_a_jar_that_was_changed_is_named(tmp_path: Path) -> None:
    for jar in install(print).iterdir():
        (tmp_path / jar.name).symlink_to(jar)
    assert damaged_jars(tmp_path) == []
    changed, missing = sorted(tmp_path.iterdir())[:2]
    changed.unlink()
    changed.write_bytes(b"PK")
    missing.unlink()
    (tmp_path / "unknown.jar").write_bytes(b"")
    assert damaged_jars(tmp_path) == [changed.name, missing.name, "unknown.jar"]


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_the_doctor_finds_all_that_a_run_needs(command: Callable) -> None:
    outcome = command("doctor", "--runner", "spark")
    assert outcome.code == 0, outcome.out
    assert all(name in outcome.out for name, _ in spark_checks())
