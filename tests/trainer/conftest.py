"""Fixtures of the trainer's tests: a dataset, perturbed models and trained runs."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from tests.trainer import lean_tensorflow  # noqa: F401

# isort: split
from pipelines.build.build_dataset import build_dataset
from pipelines.config import BuildConfig
from shared.config import load_config
from shared.dataset import Dataset
from tests.commands import Outcome, runner
from tests.trainer import device_runs, runs
from tests.trainer.background_work import run_in_background
from tests.trainer.models import perturbed_narrow, perturbed_pico
from trainer import cli, speak_cli
from trainer.model.xtts import XTTS


@pytest.fixture(scope="session", autouse=True)
def background(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Future[Any]]]:
    """Results of the work that runs in background processes, by the fixtures that return them."""
    requested = {name for item in request.session.items for name in getattr(item, "fixturenames", ())}
    with run_in_background(requested, make_folder=tmp_path_factory.mktemp) as works:
        yield works


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built sample corpus; read-only."""
    return built(tmp_path_factory.mktemp("sample") / "data")


@pytest.fixture(scope="session")
def dataset(data: Path) -> Dataset:
    return Dataset.open(data)


@pytest.fixture(scope="session")
def many_shards(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """The sample corpus in eight training shards, mels in float32."""
    overrides = ["mel_dtype=float32", "utterances_per_shard=7"]
    return Dataset.open(built(tmp_path_factory.mktemp("float32") / "data", overrides=overrides))


def spoil_record(data: Path, *, to: Path) -> Path:
    """Copy a dataset, and change one byte in the middle of a shard."""
    shard = next((shutil.copytree(data, to) / "shards").glob("*-train-*"))
    content = bytearray(shard.read_bytes())
    content[len(content) // 2] ^= 0xFF
    shard.write_bytes(content)
    return shard


def built(folder: Path, *, overrides: list[str] | None = None) -> Path:
    config = load_config("configs/preprocess_sample.yaml", of=BuildConfig, overrides=overrides or [])
    build_dataset(config, data=folder)
    return folder


@pytest.fixture(scope="session")
def models() -> Callable[..., XTTS]:
    """Perturbed pico models, one per r and options; read-only."""
    return functools.cache(perturbed_pico)


@pytest.fixture(scope="session")
def narrow_models() -> Callable[..., XTTS]:
    """Perturbed models with one narrow layer everywhere, one per r and options; read-only."""
    return functools.cache(perturbed_narrow)


@pytest.fixture(scope="session")
def trained(background: dict[str, Future[runs.Trained]]) -> runs.Trained:
    """An undisturbed run, and the same one resumed in the middle; read-only."""
    return background["trained"].result()


@pytest.fixture(scope="session")
def on_devices(background: dict[str, Future[device_runs.Runs]]) -> device_runs.Runs:
    """Runs on one and on two devices; read-only."""
    return background["on_devices"].result()


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run `myxtts-train` with the given arguments."""
    return runner(cli.main, name="myxtts-train", monkeypatch=monkeypatch, capsys=capsys)


@pytest.fixture
def speak_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run `myxtts-speak` with the given arguments."""
    return runner(speak_cli.main, name="myxtts-speak", monkeypatch=monkeypatch, capsys=capsys)
