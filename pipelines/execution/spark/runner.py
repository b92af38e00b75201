"""Beam's portable runner for Spark: on this machine within the job server, or on a cluster that SPARK_MASTER names.

The job server is Spark's driver program. It starts with the job and ends with it, or with this process, and then the
cluster ends the job too: no job outlives the command.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam
import click
import grpc
from apache_beam.options.pipeline_options import PipelineOptions, PortableOptions
from apache_beam.runners.portability.portable_runner import PortableRunner
from apache_beam.runners.runner import PipelineResult, PipelineState

from pipelines.execution.flink import launcher
from pipelines.execution.flink.checks import worker_launcher_path
from pipelines.execution.flink.environment import state_folder
from pipelines.execution.flink.java import ADD_OPENS, JVM_FLAGS, java_home
from pipelines.execution.flink.job_server import run_job_server
from pipelines.execution.flink.processes import free_port
from pipelines.execution.spark.install import install
from shared.errors import UserError

DRIVER = "org.apache.beam.runners.spark.SparkJobServerDriver"
LOG_CONFIG = Path(__file__).with_name("log4j.properties")
TASK_ATTEMPTS = 4  # of Spark on this machine, as on a cluster; its default here is one
# Spark on Java 17 opens these too.
_OPENED = ("sun.nio.cs", "sun.security.action", "sun.util.calendar")


def master_from_env(workers: int) -> str:
    """The master: SPARK_MASTER, by default Spark on this machine with as many tasks at a time as there are workers.

    Raises:
        UserError: the variable has another form.
    """
    named = os.environ.get("SPARK_MASTER")
    if not named:
        return f"local[{workers},{TASK_ATTEMPTS}]"
    if not re.fullmatch(r"spark://[^/\s:]+:\d+", named):
        raise UserError(
            f"SPARK_MASTER={named}: expected spark://host:port of a standalone cluster; unset, Spark runs here"
        )
    return named


def spark_pipeline(*, workers: int, name: str) -> beam.Pipeline:
    """A pipeline for Spark with `workers` tasks at a time, each with a Python worker.

    Raises:
        UserError: the worker launcher is not installed, or SPARK_MASTER is invalid.
    """
    config = {"command": worker_launcher_path(), "env": {launcher.FOLDER: str(Path.cwd())}}
    options = PipelineOptions(
        [
            f"--job_name={name}",
            *("--environment_type=PROCESS", f"--environment_config={json.dumps(config)}"),
            f"--sdk_worker_parallelism={workers}",
            "--experiments=disable_logging_submission_environment",  # it runs `pip freeze`, which takes seconds
        ]
    )
    return beam.Pipeline(runner=SparkRunner(master_from_env(workers)), options=options)


class SparkRunner(PortableRunner):
    """Starts a job server, and submits to it."""

    def __init__(self, master: str):
        super().__init__()
        self._master = master

    def run_portable_pipeline(self, pipeline: Any, options: PipelineOptions) -> SparkResult:
        """Submit the pipeline as a job.

        Raises:
            UserError: the job server does not start or does not answer.
        """
        with contextlib.ExitStack() as stack:
            options.view_as(PortableOptions).job_endpoint = stack.enter_context(job_server(self._master))
            try:
                submitted = super().run_portable_pipeline(pipeline, options)
            except (grpc.RpcError, grpc.FutureTimeoutError) as error:
                raise UserError(f"Beam's job server for {self._master} does not answer ({error}); run again") from error
            return SparkResult(submitted, resources=stack.pop_all())


class SparkResult(PipelineResult):
    """A submitted job; its job server ends with it."""

    def __init__(self, submitted: Any, *, resources: contextlib.ExitStack):
        super().__init__(PipelineState.RUNNING)
        self._submitted, self._resources = submitted, resources

    def wait_until_finish(self, duration: int | None = None) -> str:
        """Wait until the job has ended; an interrupt ends the job server, and the job with it.

        Raises:
            RuntimeError: the job failed; the message holds Spark's reason.
            UserError: the job server has died.
        """
        with self._resources:
            try:
                return str(self._submitted.wait_until_finish())
            except grpc.RpcError as error:
                log = state_folder() / "spark" / "log"
                raise UserError(
                    f"Beam's job server died (its log is in {log}); nothing was published; run again"
                ) from error


@contextlib.contextmanager
def job_server(master: str) -> Iterator[str]:
    """host:port of a job server that runs while the body does."""
    jars = install(lambda line: click.echo(line, err=True))
    folder, port = state_folder() / "spark", free_port()
    words = [
        *(str(java_home() / "bin" / "java"), "-Xmx1g", *ADD_OPENS, *JVM_FLAGS),
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
        *(f"-Dlog4j.configuration=file:{LOG_CONFIG}", "-Dspark.ui.enabled=false"),
        *(
            ()
            if master.startswith("spark:")
            else ("-Dspark.driver.host=localhost", "-Dspark.driver.bindAddress=127.0.0.1")
        ),
        *("-cp", f"{jars}/*", DRIVER, f"--spark-master-url={master}"),
        *("--job-host=localhost", f"--job-port={port}", "--artifact-port=0", "--expansion-port=0"),
        f"--artifacts-dir={folder / 'artifacts'}",
    ]
    with run_job_server(words, port=port, folder=folder) as endpoint:
        yield endpoint
