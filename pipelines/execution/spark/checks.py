"""Checks what a run on Spark needs, in the order in which a user would fix it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pipelines.execution.flink.checks import worker_launcher_path
from pipelines.execution.flink.java import java_home, maven
from pipelines.execution.flink.versions import versions
from pipelines.execution.spark.install import damaged_jars, jars_folder
from pipelines.execution.spark.runner import master_from_env
from shared.errors import UserError


def spark_checks() -> Iterator[tuple[str, Callable[[], str]]]:
    """Pairs of a name and a check, which returns what it found or raises a UserError with what to do."""
    yield "worker", worker_launcher_path
    yield "Java", lambda: f"{versions().java} in {java_home()}"
    yield "Maven", lambda: "not needed: Spark is installed" if jars_folder().is_dir() else maven()
    yield "Spark's files", _files
    yield "master", lambda: master_from_env(1).replace("[1,", "[workers,")


def _files() -> str:
    folder = jars_folder()
    if not folder.is_dir():
        return "not installed; the first run installs them (210 MB)"
    if damaged := damaged_jars(folder):
        raise UserError(f"{', '.join(damaged)} damaged; rm -r {folder}, and the next run installs them again")
    return f"whole, in {folder}"
