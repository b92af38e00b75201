"""Beam's runner for portable job servers, with Flink's own word on how the job fares."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import Any

import apache_beam as beam
import click
from apache_beam.options.pipeline_options import PipelineOptions, PortableOptions
from apache_beam.portability.api import beam_job_api_pb2
from apache_beam.runners.portability.portable_runner import PortableRunner
from apache_beam.runners.runner import PipelineResult, PipelineState

from pipelines.flink import launcher
from pipelines.flink.checks import worker_command
from pipelines.flink.cluster import Cluster
from pipelines.flink.install import Installation, install
from pipelines.flink.job_server import home_class_path, leashed_job_server, travelling_class_path
from pipelines.flink.jobs import Job, cancel_job, find_job, wait_for_job
from pipelines.flink.places import asked_job_server_jar, cluster_folder
from pipelines.flink.rest import ask
from pipelines.flink.versions import sums, versions
from shared.errors import UserError

# A worker lives from one stage to the next if that begins within this time, which saves its imports. It must be
# less than the delay of the cluster's restart strategy (2 s), so that a dead one is not found again after a restart.
WORKER_KEPT_MS = 1_500

INTERVAL_S = 0.2


def flink_pipeline(master: str, *, workers: int, name: str) -> beam.Pipeline:
    """A pipeline for that cluster, as wide as wanted: the cluster must have so many slots.

    Raises:
        UserError: this environment lacks the program that TaskManagers start.
    """
    config = {"command": worker_command(), "env": {launcher.FOLDER: str(Path.cwd())}}
    options = PipelineOptions(
        [
            f"--job_name={name}",
            f"--parallelism={workers}",
            "--sdk_worker_parallelism=1",
            "--execution_mode_for_batch=BATCH_FORCED",  # a stage that is done survives the loss of a TaskManager
            "--environment_type=PROCESS",
            f"--environment_config={json.dumps(config)}",
            f"--environment_cache_millis={WORKER_KEPT_MS}",
            "--experiments=disable_logging_submission_environment",  # a `pip freeze`, seconds long
        ]
    )
    return beam.Pipeline(runner=FlinkRunner(master), options=options)


class FlinkRunner(PortableRunner):
    """Submits to the job server of a cluster of ours, or starts one here for that of somebody else."""

    def __init__(self, master: str):
        super().__init__()
        self._master = master

    def run_portable_pipeline(self, pipeline: Any, options: PipelineOptions) -> FlinkResult:
        name = options.get_all_options()["job_name"]
        with contextlib.ExitStack() as stack:
            options.view_as(PortableOptions).job_endpoint = stack.enter_context(job_server(self._master))
            submitted = super().run_portable_pipeline(pipeline, options)
            return FlinkResult(submitted, master=self._master, name=name, held=stack.pop_all())


class FlinkResult(PipelineResult):
    """A job under way."""

    def __init__(self, submitted: Any, *, master: str, name: str, held: contextlib.ExitStack):
        super().__init__(PipelineState.RUNNING)
        self._submitted, self._master, self._name, self._held = submitted, master, name, held

    def wait_until_finish(self, duration: int | None = None) -> str:
        """To the end of the job, however long; an interrupt ends the job too, so that nothing of it writes on.

        Raises:
            UserError: one was raised in a worker.
            JobFailed: it failed otherwise.
        """
        with self._held:
            job = self._arrived()
            try:
                wait_for_job(self._master, job.id, interval_s=INTERVAL_S)
            except KeyboardInterrupt:
                cancel_job(self._master, job.id)
                raise
        return str(PipelineState.DONE)

    def _arrived(self) -> Job:
        """Once Flink lists it; until then the job server has the word."""
        while (job := find_job(self._master, name=self._name)) is None:
            if self._submitted.state == PipelineState.FAILED:
                raise RuntimeError(f"Beam's job server refused {self._name}: {self._said()}")
            time.sleep(INTERVAL_S)
        return job

    def _said(self) -> str:
        said = (one.message_response for one in self._submitted._message_stream if one.HasField("message_response"))
        errors = [one.message_text for one in said if one.importance == beam_job_api_pb2.JobMessage.JOB_MESSAGE_ERROR]
        return errors[-1] if errors else "it does not say why"


def job_server(master: str) -> contextlib.AbstractContextManager[str]:
    """host:port of a job server for that cluster: its own, if it is one of ours, or one for the time of the job."""
    files = install(lambda line: click.echo(line, err=True))
    ours = Cluster(master, files=files).processes()
    if ours.job_server is not None and asked_job_server_jar() is None:
        return contextlib.nullcontext(ours.endpoint)
    return leashed_job_server(
        master, folder=cluster_folder(master), class_path=class_path_for(master, files), files=files
    )


def class_path_for(master: str, files: Installation) -> str:
    """The job server's, whose jars travel with each job, unless the cluster has Beam's on its own class path.

    There they must not: a TaskManager that has the same classes from two places takes no job any more.

    Raises:
        UserError: the cluster has Beam's jars, and those of FLINK_JOB_SERVER_JAR would travel to it.
    """
    jar, has_beam = asked_job_server_jar(), runs_beam(master)
    if jar is not None and has_beam:
        raise UserError(f"the cluster at {master} has Beam's jars on its class path; unset FLINK_JOB_SERVER_JAR")
    if jar is not None:
        return str(jar)
    return home_class_path(files) if has_beam else travelling_class_path(files)


def runs_beam(master: str) -> bool:
    """Whether the cluster's own class path holds Beam's runner.

    Raises:
        UserError: it holds another version of it than is here.
    """
    found = {Path(one).name for one in ask(master, "/jobmanager/environment")["classpath"]}
    runners = sorted(name for name in found if name.startswith("beam-runners-flink"))
    if runners and runners[0] not in sums():
        raise UserError(f"the cluster at {master} has {runners[0]} on its class path, here is Beam {versions().beam}")
    return bool(runners)
