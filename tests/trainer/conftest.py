"""One dataset, one perturbed model and two trained runs for all of the trainer's tests."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

# before TensorFlow is imported: its notes about itself are no findings
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

from pipelines.build import build_dataset
from pipelines.config import BuildConfig
from shared.config import load_config
from shared.dataset import Dataset
from tests.commands import Outcome, runner
from tests.trainer import runs
from tests.trainer.models import perturbed_pico
from trainer import cli
from trainer.model.xtts import XTTS


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample corpus, built; not to be changed."""
    return built(tmp_path_factory.mktemp("sample") / "data")


@pytest.fixture(scope="session")
def dataset(data: Path) -> Dataset:
    return Dataset.open(data)


@pytest.fixture(scope="session")
def many_shards(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """The sample corpus in eight training shards, mels in float32."""
    overrides = ["mel_dtype=float32", "utterances_per_shard=7"]
    return Dataset.open(built(tmp_path_factory.mktemp("float32") / "data", overrides=overrides))


def built(folder: Path, *, overrides: list[str] | None = None) -> Path:
    config = load_config("configs/preprocess_sample.yaml", of=BuildConfig, overrides=overrides or [])
    build_dataset(config, data=folder)
    return folder


@pytest.fixture(scope="session")
def models() -> Callable[..., XTTS]:
    """Perturbed pico models, one for each r and options; not to be changed."""
    return functools.cache(perturbed_pico)


@pytest.fixture(scope="session", autouse=True)
def _training(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Future[runs.Trained] | None]:
    """Minutes of training, begun with the first test if any test wants it: the other core is idle until then."""
    if not any("trained" in getattr(item, "fixturenames", ()) for item in request.session.items):
        yield None
        return
    folder = tmp_path_factory.mktemp("runs")
    # nothing to validate with: its programs take as long to compile as those of training
    data = built(folder / "data", overrides=["validation_fraction=0"])
    with ThreadPoolExecutor(max_workers=1) as executor:
        yield executor.submit(runs.train_twice, data, folder=folder)
        for process in runs.STARTED:
            process.kill()


@pytest.fixture(scope="session")
def trained(_training: Future[runs.Trained]) -> runs.Trained:
    """An undisturbed run, and the same one killed and resumed; not to be changed."""
    return _training.result()


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """The console command with the words given."""
    return runner(cli.main, name="myxtts-train", monkeypatch=monkeypatch, capsys=capsys)
