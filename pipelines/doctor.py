"""The command `doctor`: checks that everything a run needs is there, and reports how to fix what is missing."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from pipelines.storage.locations import dataset_path
from shared.errors import UserError
from shared.health_check import Check, free_space, run_check
from shared.storage_path import StoragePath

MIN_FREE_GIB = 2.0
LIBRARIES = ("apache-beam", "numpy", "pyarrow", "scipy", "soundfile", "soxr", "tokenizers")


@click.command()
@click.option("--runner", type=click.Choice(["local", "flink", "spark"]), default="local", show_default=True)
@click.option("--data", type=dataset_path, metavar="PATH", default=".", help="Folder of the dataset.")
def doctor(runner: str, data: StoragePath) -> None:
    """Check that everything a run needs is there; exit 0 if so, else 1."""
    checks = list(check_environment(runner, data=data))
    for check in checks:
        click.echo(check)
    sys.exit(any(check.trouble for check in checks))


def check_environment(runner: str, *, data: StoragePath) -> Iterator[Check]:
    """The checks of a run on that runner, in order."""
    yield run_check("Python", _python)
    yield run_check("libraries", _libraries)
    yield run_check("disk", lambda: _disk(data))
    if runner == "flink":
        from pipelines.execution.flink.checks import flink_checks

        for name, check in flink_checks():
            yield run_check(name, check)
    if runner == "spark":
        from pipelines.execution.spark.checks import spark_checks

        for name, check in spark_checks():
            yield run_check(name, check)


def _python() -> str:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] not in ((3, 11), (3, 12)):
        raise UserError(
            f"{version} in {sys.prefix}; expected 3.11 or 3.12: `rm -rf .venv; make setup PYTHON=python3.11`"
        )
    return f"{version} in {sys.prefix}"


def _libraries() -> str:
    """Check that the libraries that workers import are installed; versions are checked by pip."""
    missing = [name for name in LIBRARIES if not _installed(name)]
    if missing:
        raise UserError(f"{', '.join(missing)} missing in {sys.prefix}; `make setup`, or pip install .[preprocess]")
    return f"apache-beam {importlib.metadata.version('apache-beam')} and {len(LIBRARIES) - 1} more"


def _installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _disk(data: StoragePath) -> str:
    if isinstance(data, Path):
        free = free_space(data, required_gib=MIN_FREE_GIB, variable="DATA")
        return f"{free}; `make preprocess CONFIG=… ARGS=--plan` estimates how much a build takes"
    try:
        there = "a dataset, or the start of one" if data.is_dir() else "nothing yet"
    except OSError as error:
        raise UserError(f"{data} cannot be listed ({error.strerror}); expected a folder that you own: DATA=") from error
    return f"{data}: {there}; whether it is writable is only known when it is written"
