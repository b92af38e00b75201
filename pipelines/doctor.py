"""Is all there that a run needs, and what to do where not."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import click

from pipelines.storage import dataset_path
from shared.errors import UserError
from shared.place import Place

ROOM_WANTED_GIB = 2.0
LIBRARIES = ("apache-beam", "numpy", "pyarrow", "scipy", "soundfile", "soxr", "tokenizers")


class Check(NamedTuple):
    """One line of the table; `trouble` says what to do, empty where all is well."""

    name: str
    found: str
    trouble: str = ""


@click.command()
@click.option("--runner", type=click.Choice(["local", "flink"]), default="local", show_default=True)
@click.option("--data", type=dataset_path, metavar="PATH", default=".", help="Where a dataset is to be.")
def doctor(runner: str, data: Place) -> None:
    """Check that all is there that a run needs; exit 0 if so, else 1."""
    checks = list(examine(runner, data=data))
    for one in checks:
        click.echo(f"{'  ' if one.trouble else 'ok'} {one.name:14} {one.trouble or one.found}")
    sys.exit(any(one.trouble for one in checks))


def examine(runner: str, *, data: Place) -> Iterator[Check]:
    """What a run on that runner needs, one after another."""
    yield _looked_at("Python", _python)
    yield _looked_at("libraries", _libraries)
    yield _looked_at("disk", lambda: _room(data))
    if runner == "flink":
        from pipelines.flink.checks import flink_checks

        for name, look in flink_checks():
            yield _looked_at(name, look)


def _looked_at(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name, look())
    except UserError as error:
        return Check(name, "", trouble=str(error))


def _python() -> str:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] not in ((3, 11), (3, 12)):
        raise UserError(f"{version} in {sys.prefix}; wanted 3.11 or 3.12: `rm -rf .venv; make setup PYTHON=python3.11`")
    return f"{version} in {sys.prefix}"


def _libraries() -> str:
    """Those that a worker imports first; their versions are pip's concern."""
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


def _room(data: Place) -> str:
    if isinstance(data, Path):
        return _disk(data)
    try:
        there = "a dataset, or the start of one" if data.is_dir() else "nothing yet"
    except OSError as error:
        raise UserError(f"{data} cannot be listed ({error.strerror}); wanted a folder of yours: DATA=") from error
    return f"{data}: {there}; whether it can be written to shows when it is"


def _disk(data: Path) -> str:
    place = next(one for one in (data.absolute(), *data.absolute().parents) if one.exists())
    if not os.access(place, os.W_OK | os.X_OK):
        raise UserError(f"{place} cannot be written to; wanted a folder of yours: DATA=")
    free_gib = shutil.disk_usage(place).free / 2**30
    if free_gib < ROOM_WANTED_GIB:
        raise UserError(f"{free_gib:.1f} GiB free at {place}, wanted {ROOM_WANTED_GIB:g} or more; make room, or DATA=")
    return f"{free_gib:.0f} GiB free at {place}; `make preprocess ARGS=--plan` says how much a build takes"
