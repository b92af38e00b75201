"""Beam's portable runner for Flink, which follows the job by Flink's own REST service."""

from __future__ import annotations

import contextlib
import json
import time
from concurrent import futures
from pathlib import Path
from typing import Any

import apache_beam as beam
import click
import grpc
from apache_beam.options.pipeline_options import PipelineOptions, PortableOptions
from apache_beam.portability.api import beam_job_api_pb2
from apache_beam.runners.portability.portable_runner import PortableRunner
from apache_beam.runners.runner import PipelineResult, PipelineState

from pipelines.execution.flink import launcher
from pipelines.execution.flink.checks import check_job_server_jar, cluster_has_beam_runner, worker_launcher_path
from pipelines.execution.flink.cluster import Cluster
from pipelines.execution.flink.environment import cluster_folder, worker_pool_from_env
from pipelines.execution.flink.install import install
from pipelines.execution.flink.job_server import bundled_class_path, child_job_server, submitted_class_path
from pipelines.execution.flink.jobs import MAX_SILENCE_S, FlinkJob, cancel_job, find_job, wait_for_job
from pipelines.execution.flink.rest import Unreachable
from pipelines.execution.flink.restart_strategy import WORKER_KEPT_S

INTERVAL_S = 0.2


def flink_pipeline(master: str, *, workers: int, name: str) -> beam.Pipeline:
    """A pipeline for that cluster with `workers` workers; the cluster must have as many slots.

    Raises:
        UserError: the worker launcher is not installed, or FLINK_ENVIRONMENT is invalid.
    """
    options = PipelineOptions(
        [
            f"--job_name={name}",
            f"--parallelism={workers}",
            "--sdk_worker_parallelism=1",
            "--execution_mode_for_batch=BATCH_FORCED",  # finished stages survive the loss of a TaskManager
            *_environment(),
            f"--environment_cache_millis={1000 * WORKER_KEPT_S}",
            "--experiments=disable_logging_submission_environment",  # it runs `pip freeze`, which takes seconds
        ]
    )
    return beam.Pipeline(runner=FlinkRunner(master), options=options)


def _environment() -> list[str]:
    """Options for how Python workers are started: by each TaskManager, or by the worker pool beside it."""
    pool = worker_pool_from_env()
    if pool is not None:
        return ["--environment_type=EXTERNAL", f"--environment_config={pool}"]
    config = {"command": worker_launcher_path(), "env": {launcher.FOLDER: str(Path.cwd())}}
    return ["--environment_type=PROCESS", f"--environment_config={json.dumps(config)}"]


class FlinkRunner(PortableRunner):
    """Submits to the job server of a local cluster, or to one that it starts for any other cluster."""

    def __init__(self, master: str):
        super().__init__()
        self._master = master

    def run_portable_pipeline(self, pipeline: Any, options: PipelineOptions) -> FlinkResult:
        """Submit the pipeline as a job.

        Raises:
            UserError: the job server does not start, or the cluster is not usable.
            Unreachable: the job server does not answer any more; it may have the job.
        """
        name = options.get_all_options()["job_name"]
        with contextlib.ExitStack() as stack:
            options.view_as(PortableOptions).job_endpoint = stack.enter_context(job_server(self._master))
            submitted = self._submitted(pipeline, options, name=name)
            return FlinkResult(submitted, master=self._master, name=name, resources=stack.pop_all())

    def _submitted(self, pipeline: Any, options: PipelineOptions, *, name: str) -> Any:
        """Submit in a thread, so that an interrupt cannot cut the submission: a submitted job can be cancelled."""
        with futures.ThreadPoolExecutor(1) as pool:
            submission = pool.submit(self._submit, pipeline, options, name=name)
            try:
                return submission.result()
            except KeyboardInterrupt:
                FlinkResult(submission.result(), master=self._master, name=name).cancel()
                raise

    def _submit(self, pipeline: Any, options: PipelineOptions, *, name: str) -> Any:
        try:
            return super().run_portable_pipeline(pipeline, options)
        except (grpc.RpcError, grpc.FutureTimeoutError) as error:
            raise _unreachable(error, name=name, master=self._master) from error


class FlinkResult(PipelineResult):
    """A submitted job."""

    def __init__(self, submitted: Any, *, master: str, name: str, resources: contextlib.ExitStack | None = None):
        super().__init__(PipelineState.RUNNING)
        self._submitted, self._master, self._name = submitted, master, name
        self._resources = resources or contextlib.ExitStack()

    def wait_until_finish(self, duration: int | None = None) -> str:
        """Wait until the job has ended; an interrupt cancels the job, so that it does not write any more.

        Raises:
            UserError: one was raised in a worker.
            JobFailed: the job failed for another reason.
            Unreachable: job server or cluster does not answer any more; the job may still run.
        """
        with self._resources:
            try:
                job = self._find_listed_job()
                if job is None:
                    raise RuntimeError(f"Beam's job server refused {self._name}: {self._last_error()}")
                wait_for_job(self._master, job, interval_s=INTERVAL_S)
            except KeyboardInterrupt:
                self.cancel()
                raise
        return str(PipelineState.DONE)

    def cancel(self) -> None:
        """Cancel the job, and wait until it has ended.

        A submitted job must be listed by Flink first: the job server reports it as cancelled at once, but may still
        submit it.

        Raises:
            Unreachable: as `wait_until_finish`.
        """
        click.echo(f"interrupted: cancelling {self._name}; a second Ctrl-C leaves it running", err=True)
        job = self._find_listed_job()
        if job is not None:
            cancel_job(self._master, job)

    def _find_listed_job(self) -> FlinkJob | None:
        """The job once Flink lists it; None if the job server reports that it ended without reaching Flink."""
        last_answer_s, state = time.monotonic(), PipelineState.UNKNOWN
        while True:
            try:
                job = find_job(self._master, name=self._name)
                if job is not None or PipelineState.is_terminal(state):
                    return job
                state, last_answer_s = self._submitted.state, time.monotonic()
            except (grpc.RpcError, Unreachable) as error:
                if time.monotonic() - last_answer_s > MAX_SILENCE_S:
                    raise _unreachable(error, name=self._name, master=self._master) from error
            time.sleep(INTERVAL_S)

    def _last_error(self) -> str:
        errors = []
        with contextlib.suppress(grpc.RpcError):  # the job server keeps the stream open for a minute only
            for one in self._submitted._message_stream:
                message = one.message_response
                if message.importance == beam_job_api_pb2.JobMessage.JOB_MESSAGE_ERROR:
                    errors.append(message.message_text)
        return errors[-1] if errors else "no reason given"


def _unreachable(error: Exception, *, name: str, master: str) -> Unreachable:
    if isinstance(error, Unreachable):
        return Unreachable(f"{error}; {name} may run there")
    why = error.code().name if isinstance(error, grpc.Call) else type(error).__name__
    return Unreachable(
        f"Beam's job server does not answer ({why}); {name} may have reached Flink at {master}: `make flink-status`"
    )


def job_server(master: str) -> contextlib.AbstractContextManager[str]:
    """host:port of a job server: that of a local cluster, or one that runs while the job does."""
    folder, jar = cluster_folder(master), check_job_server_jar(master)
    if jar is not None:
        return child_job_server(master, folder=folder, class_path=str(jar))
    files = install(lambda line: click.echo(line, err=True))
    local = Cluster(master, files=files).processes()
    if local.job_server is not None:
        return contextlib.nullcontext(local.endpoint)
    class_path = bundled_class_path(files) if cluster_has_beam_runner(master) else submitted_class_path(files)
    return child_job_server(master, folder=folder, class_path=class_path, log_config=files.log_config)
