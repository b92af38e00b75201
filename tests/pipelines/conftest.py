"""Datasets that are built once per session; a test that changes one takes a copy."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipelines import cli
from pipelines.execution.flink.cluster import Cluster
from pipelines.execution.flink.install import install
from pipelines.execution.flink.processes import free_port, is_port_open
from shared.errors import UserError
from tests.commands import Outcome, runner
from tests.pipelines import builds, quick_graphs

quick_graphs.remember()


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dataset of the sample corpus; tests must not change it."""
    return builds.build(tmp_path_factory.mktemp("sample") / "data")


@pytest.fixture(scope="session")
def ljspeech(reference: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dataset of 32 LJSpeech clips with NLLB's own tokenizer; tests must not change it."""
    overrides = [
        f"sources.ljspeech.root={reference}/corpora/LJSpeech-1.1",
        f"tokenizer={reference}/nllb/tokenizer.json",
    ]
    data = tmp_path_factory.mktemp("ljspeech") / "data"
    return builds.build(data, config=builds.LJSPEECH_CONFIG, overrides=overrides)


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A dataset of twelve clips in three shards; tests must not change it."""
    folder = tmp_path_factory.mktemp("small")
    corpus = builds.make_corpus(folder / "corpus", clips=12)
    overrides = builds.overrides_for(corpus, "utterances_per_shard=4", "validation_fraction=0.3")
    data = builds.build(folder / "data", config=builds.LJSPEECH_CONFIG, overrides=overrides)
    before = sorted(data.rglob("*"))
    yield data
    assert sorted(data.rglob("*")) == before


@pytest.fixture(scope="session")
def flink(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A Flink cluster with ports and state of its own, to which RUNNER=flink refers from here on; leave it as it is.

    At the end `down` has to end all of its processes.
    """
    try:
        files = install(print)
    except UserError as error:
        pytest.fail(str(error)) if os.environ.get("CI") else pytest.skip(str(error))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.setenv("FLINK_MASTER", f"localhost:{free_port()}")
        patch.delenv("FLINK_JOB_SERVER_JAR", raising=False)
        # the workers' way to what tests have them call, and to the faults of recordings
        patch.setenv("PYTHONPATH", f"{builds.INJECTED_FAULTS}{os.pathsep}{Path.cwd()}")
        cluster = Cluster(os.environ["FLINK_MASTER"], files=files)
        try:
            cluster.up()
            yield cluster
        finally:
            ended = cluster.down()
        assert ended == 4, "a JobManager, two TaskManagers and a job server were running"
        assert cluster.processes().all() == []
        assert not is_port_open(int(cluster.master.rpartition(":")[2]))


@pytest.fixture
def spoiled(small: Path, tmp_path: Path) -> Path:
    """A copy of the small dataset that a test may damage."""
    return builds.copied(small, to=tmp_path / "spoiled")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """A function that runs the console command with the given arguments."""
    return runner(cli.main, name="myxtts-data", monkeypatch=monkeypatch, capsys=capsys)
