"""Beam runners by name, with the options that each needs.

The runner is always named: Beam's default would try to download another runner, and fall back silently.
"""

from __future__ import annotations

import logging
import os
import re
import shlex
import sys
import threading
import uuid
from collections.abc import Callable

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.transforms.environments import SubprocessSDKEnvironment

from pipelines.execution.flink.environment import master_from_env
from pipelines.execution.flink.jobs import user_error_message
from pipelines.execution.flink.rest import Unreachable
from pipelines.execution.interrupts import WORKER_MODULE, interrupts_recorded, is_interrupted
from preprocess.isolated import signal_name
from shared.errors import UserError

# Worker processes spend seconds on imports. On 2 cores, two of them take as long as one process in memory at
# 1,600 utterances (`make bench`).
MIN_UTTERANCES_FOR_PROCESSES = 2_000

WORKER_DIED_EXIT_CODE = 70

# Beam's threads that end with an exception if the connection to a worker breaks.
_CONNECTION_THREADS = ("beam_control_read", "read_grpc_client_inputs")


def choose_workers(requested: int | None, *, utterances: int, runner: str = "local") -> int:
    """The number of worker processes: as requested, else 1 for a small job and all cores for a large one.

    On Flink it is the number of slots of the cluster, regardless of the request.

    Raises:
        UserError: the cluster cannot be reached, or cannot take the job.
    """
    if runner == "flink":
        from pipelines.execution.flink.checks import count_slots

        return count_slots(master_from_env())
    if requested is not None:
        return requested
    return 1 if utterances < MIN_UTTERANCES_FOR_PROCESSES else os.cpu_count() or 1


def master_address(runner: str) -> str | None:
    """Address of the cluster on which a runner's jobs outlive their driver; None for a local runner."""
    return master_from_env() if runner == "flink" else None


def new_job_name(command: str) -> str:
    """A unique name for a job."""
    return f"myxtts-{command}-{uuid.uuid4().hex}"


def run_graph(
    build: Callable[[beam.Pipeline], object],
    *,
    runner: str,
    workers: int,
    name: str,
    blame: Callable[[], str] = lambda: "(out of memory?)",
) -> None:
    """Build a pipeline with the named runner and run it to its end.

    Args:
        name: of the job; unique.
        blame: says why a local worker process may have died; called if one does.

    Raises:
        UserError: a UserError was raised in the graph, here or in a worker process.
        Unreachable: the cluster does not answer; the job may still run.
        KeyboardInterrupt: the user interrupted it; Beam wraps it like any other exception.
    """
    if runner == "local" and workers > 1:
        _exit_when_a_worker_dies(blame)
    with interrupts_recorded():
        pipeline = RUNNERS[runner](workers, name)
        build(pipeline)
        try:
            pipeline.run().wait_until_finish()
        except Unreachable:
            raise
        except (UserError, RuntimeError) as error:
            if str(error).startswith("KeyboardInterrupt"):
                raise KeyboardInterrupt from error
            message = _user_error_text(error)
            if message is None:
                raise
            raise UserError(message) from error
    if is_interrupted():  # raised in compiled code or a finaliser, which swallow exceptions
        raise KeyboardInterrupt


def _local_pipeline(workers: int, name: str) -> beam.Pipeline:
    """A pipeline of Beam's local portable runner, in this process or with worker processes."""
    options = PipelineOptions([f"--direct_num_workers={workers}", f"--job_name={name}"])
    if workers == 1:
        return beam.Pipeline(runner=FnApiRunner(), options=options)
    environment = SubprocessSDKEnvironment.from_command_string(local_worker_command())
    return beam.Pipeline(runner=FnApiRunner(default_environment=environment), options=options)


def local_worker_command() -> str:
    """The shell command of a local worker; Ctrl-C is left to the driver.

    `-P` keeps the current folder out of the import path: it may contain another package named `shared`.
    """
    return f"trap '' INT; exec {shlex.quote(sys.executable)} -P -m {WORKER_MODULE}"


def _flink_pipeline(workers: int, name: str) -> beam.Pipeline:
    """A pipeline for the Flink cluster that the environment names."""
    from pipelines.execution.flink.runner import flink_pipeline

    return flink_pipeline(master_from_env(), workers=workers, name=name)


def _spark_pipeline(workers: int, name: str) -> beam.Pipeline:
    """A pipeline for Spark, on this machine or on the cluster that the environment names."""
    from pipelines.execution.spark.runner import spark_pipeline

    return spark_pipeline(workers=workers, name=name)


RUNNERS: dict[str, Callable[[int, str], beam.Pipeline]] = {
    "local": _local_pipeline,
    "flink": _flink_pipeline,
    "spark": _spark_pipeline,
}


def _user_error_text(error: BaseException) -> str | None:
    """The message of a UserError, also if Beam carried it out of a DoFn as text; else None."""
    return user_error_message(f"UserError: {error}" if isinstance(error, UserError) else str(error))


def _exit_when_a_worker_dies(blame: Callable[[], str]) -> None:
    """Exit the process if a worker was killed, because the runner would wait forever.

    The runner's thread `run_worker` then ends with an exception that nobody handles. The same happens without an error
    after an interrupt, when the runner disconnects its workers. Other threads, and Beam's log, tell of the connection.
    """
    logging.getLogger("apache_beam.runners.worker.data_plane").setLevel(logging.CRITICAL)
    previous = threading.excepthook

    def hook(args: threading.ExceptHookArgs) -> None:
        name = args.thread.name if args.thread is not None else ""
        if name not in ("run_worker", *_CONNECTION_THREADS):
            previous(args)
        elif name == "run_worker" and not is_interrupted():
            try:
                died = f"error: a worker process died{_signal_in(args.exc_value)} {blame()}"
                sys.stderr.write(f"{died}; nothing was published; run again\n")
                sys.stderr.flush()
            finally:
                os._exit(WORKER_DIED_EXIT_CODE)

    threading.excepthook = hook


def _signal_in(error: BaseException | None) -> str:
    """The signal that ended a worker, in brackets, from Beam's message about that worker; empty if it was none."""
    found = re.search(r"return code -(\d+)", str(error))
    return f" ({signal_name(int(found[1]))})" if found else ""
