"""Beam's runner for portable job servers, with Flink's own word on how the job fares."""

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
from pipelines.execution.flink.checks import check_job_server_jar, has_beam_jars, worker_command
from pipelines.execution.flink.cluster import Cluster
from pipelines.execution.flink.environment import cluster_folder, worker_pool_from_env
from pipelines.execution.flink.install import install
from pipelines.execution.flink.job_server import bundled_class_path, child_job_server, submitted_class_path
from pipelines.execution.flink.jobs import MAX_SILENCE_S, FlinkJob, cancel_job, find_job, wait_for_job
from pipelines.execution.flink.rest import Unreachable
from pipelines.execution.flink.restart_strategy import WORKER_KEPT_S

INTERVAL_S = 0.2


def flink_pipeline(master: str, *, workers: int, name: str) -> beam.Pipeline:
    """A pipeline for that cluster, with `workers` workers: the cluster must have so many slots.

    Raises:
        UserError: this environment lacks the program that TaskManagers start, or the pool asked for is none.
    """
    options = PipelineOptions(
        [
            f"--job_name={name}",
            f"--parallelism={workers}",
            "--sdk_worker_parallelism=1",
            "--execution_mode_for_batch=BATCH_FORCED",  # a stage that is done survives the loss of a TaskManager
            *_environment(),
            f"--environment_cache_millis={1000 * WORKER_KEPT_S}",
            "--experiments=disable_logging_submission_environment",  # a `pip freeze`, seconds long
        ]
    )
    return beam.Pipeline(runner=FlinkRunner(master), options=options)


def _environment() -> list[str]:
    """Who starts Python workers: each TaskManager, or the pool that is its neighbour."""
    pool = worker_pool_from_env()
    if pool is not None:
        return ["--environment_type=EXTERNAL", f"--environment_config={pool}"]
    config = {"command": worker_command(), "env": {launcher.FOLDER: str(Path.cwd())}}
    return ["--environment_type=PROCESS", f"--environment_config={json.dumps(config)}"]


class FlinkRunner(PortableRunner):
    """Submits to the job server of a cluster of ours, or starts one here for that of somebody else."""

    def __init__(self, master: str):
        super().__init__()
        self._master = master

    def run_portable_pipeline(self, pipeline: Any, options: PipelineOptions) -> FlinkResult:
        """
        Raises:
            UserError: of the job server, or of the cluster.
            Unreachable: the job server fell silent, and may have the job.
        """
        name = options.get_all_options()["job_name"]
        with contextlib.ExitStack() as stack:
            options.view_as(PortableOptions).job_endpoint = stack.enter_context(job_server(self._master))
            submitted = self._submitted(pipeline, options, name=name)
            return FlinkResult(submitted, master=self._master, name=name, resources=stack.pop_all())

    def _submitted(self, pipeline: Any, options: PipelineOptions, *, name: str) -> Any:
        """In a thread, where an interrupt does not cut the submission in two: what was submission can then be ended."""
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
    """A job under way."""

    def __init__(self, submitted: Any, *, master: str, name: str, resources: contextlib.ExitStack | None = None):
        super().__init__(PipelineState.RUNNING)
        self._submitted, self._master, self._name = submitted, master, name
        self._resources = resources or contextlib.ExitStack()

    def wait_until_finish(self, duration: int | None = None) -> str:
        """To the cancel of the job, however long; an interrupt ends the job too, so that nothing of it writes on.

        Raises:
            UserError: one was raised in a worker.
            JobFailed: it failed otherwise.
            Unreachable: job server or cluster fell silent; the job may run on.
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

        One that is on its way must arrive first: the job server calls a job cancelled at once, and may submit it yet.

        Raises:
            Unreachable: as `wait_until_finish`.
        """
        click.echo(f"interrupted: {self._name} is ended first; a second Ctrl-C leaves it running", err=True)
        job = self._find_listed_job()
        if job is not None:
            cancel_job(self._master, job)

    def _find_listed_job(self) -> FlinkJob | None:
        """Once Flink lists it; None where the job server says that it has ended, and Flink has never had it."""
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
        with contextlib.suppress(grpc.RpcError):  # it keeps its stream open for a minute only
            for one in self._submitted._message_stream:
                message = one.message_response
                if message.importance == beam_job_api_pb2.JobMessage.JOB_MESSAGE_ERROR:
                    errors.append(message.message_text)
        return errors[-1] if errors else "it does not say why"


def _unreachable(error: Exception, *, name: str, master: str) -> Unreachable:
    if isinstance(error, Unreachable):
        return Unreachable(f"{error}; {name} may run there")
    why = error.code().name if isinstance(error, grpc.Call) else type(error).__name__
    return Unreachable(
        f"Beam's job server does not answer ({why}); {name} may have reached Flink at {master}: `make flink-status`"
    )


def job_server(master: str) -> contextlib.AbstractContextManager[str]:
    """host:port of a job server for that cluster: its own, if it is one of ours, or one for the time of the job."""
    folder, jar = cluster_folder(master), check_job_server_jar(master)
    if jar is not None:
        return child_job_server(master, folder=folder, class_path=str(jar))
    files = install(lambda line: click.echo(line, err=True))
    ours = Cluster(master, files=files).processes()
    if ours.job_server is not None:
        return contextlib.nullcontext(ours.endpoint)
    class_path = bundled_class_path(files) if has_beam_jars(master) else submitted_class_path(files)
    return child_job_server(master, folder=folder, class_path=class_path, log_config=files.log_config)
