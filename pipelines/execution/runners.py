"""Runners by name, and the options that each needs. Beam's own default is never used (it would try to
download another runner, and fall back in silence)."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
import types
import uuid
from collections.abc import Callable

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.transforms.environments import SubprocessSDKEnvironment

from pipelines.execution.flink.environment import master_from_env
from pipelines.execution.flink.jobs import user_error_message
from pipelines.execution.flink.rest import Unreachable
from shared.errors import UserError

# In memory there is one process; worker processes cost seconds of imports. On 2 cores two of them draw level at
# 1,600 utterances (`make bench`).
PROCESSES_PAY_FROM = 2_000

WORKER_DIED_EXIT_CODE = 70


def choose_workers(asked: int | None, *, utterances: int, runner: str = "local") -> int:
    """How many worker processes: as asked, else one for a small job and all cores for a long one.

    On Flink as many as the cluster has slots, whatever was asked for.

    Raises:
        UserError: there is no such cluster, or none that could take the job.
    """
    if runner == "flink":
        from pipelines.execution.flink.checks import count_slots

        return count_slots(master_from_env())
    if asked is not None:
        return asked
    return 1 if utterances < PROCESSES_PAY_FROM else os.cpu_count() or 1


def master_address(runner: str) -> str | None:
    """Where the jobs of a runner live on when the process that sent them is gone; None for one that runs here."""
    return master_from_env() if runner == "flink" else None


def new_job_name(command: str) -> str:
    """A name that no other job has."""
    return f"myxtts-{command}-{uuid.uuid4().hex}"


def run_graph(build: Callable[[beam.Pipeline], object], *, runner: str, workers: int, name: str) -> None:
    """Build the graph on a pipeline of the named runner and run it to its end, as a job of that (unique) name.

    Raises:
        UserError: one was raised inside the graph, here or in a worker process.
        Unreachable: there is no such cluster, or it fell silent and the job may run on.
        KeyboardInterrupt: the user ended it; Beam wraps that like any other.
    """
    _note_interrupts()
    pipeline = RUNNERS[runner](workers, name)
    build(pipeline)
    try:
        pipeline.run().wait_until_finish()
    except Unreachable:
        raise
    except (UserError, RuntimeError) as error:
        if str(error).startswith("KeyboardInterrupt"):
            raise KeyboardInterrupt from error
        message = _user_message(error)
        if message is None:
            raise
        raise UserError(message) from error
    if _INTERRUPTED.is_set():  # amid compiled code or a finaliser, which pass no exception on
        raise KeyboardInterrupt


def _local_pipeline(workers: int, name: str) -> beam.Pipeline:
    """On Beam's portable runner, in this process or with worker processes beside it."""
    options = PipelineOptions([f"--direct_num_workers={workers}", f"--job_name={name}"])
    if workers == 1:
        return beam.Pipeline(runner=FnApiRunner(), options=options)
    _end_when_a_worker_dies()
    environment = SubprocessSDKEnvironment.from_command_string(local_worker_command())
    return beam.Pipeline(runner=FnApiRunner(default_environment=environment), options=options)


def local_worker_command() -> str:
    """As `--direct_running_mode=multi_processing` starts one, but it is ours; Ctrl-C is for the driver alone to answer.

    The folder that a user stands in may hold a `shared` of its own: -P keeps it out.
    """
    return f"trap '' INT; exec {shlex.quote(sys.executable)} -P -m pipelines.execution.worker"


def _flink_pipeline(workers: int, name: str) -> beam.Pipeline:
    """On the Flink cluster asked for."""
    from pipelines.execution.flink.runner import flink_pipeline

    return flink_pipeline(master_from_env(), workers=workers, name=name)


RUNNERS: dict[str, Callable[[int, str], beam.Pipeline]] = {"local": _local_pipeline, "flink": _flink_pipeline}


def _user_message(error: BaseException) -> str | None:
    """The one line of a UserError, also where Beam carried it out of a DoFn."""
    return user_error_message(f"UserError: {error}" if isinstance(error, UserError) else str(error))


def _end_when_a_worker_dies() -> None:
    """End the process when a worker was killed: the runner itself would wait for ever.

    The runner's thread `run_worker` then ends with an exception that nobody waits for; also at an interrupt, when
    the runner hangs up on its workers, and nothing is wrong.
    """
    previous = threading.excepthook

    def hook(args: threading.ExceptHookArgs) -> None:
        if args.thread is None or args.thread.name != "run_worker":
            previous(args)
        elif not _INTERRUPTED.is_set():
            try:
                sys.stderr.write("error: a worker process died (out of memory?); nothing was published; run again\n")
                sys.stderr.flush()
            finally:
                os._exit(WORKER_DIED_EXIT_CODE)

    threading.excepthook = hook


_INTERRUPTED = threading.Event()


def _note_interrupts() -> None:
    """The event is set at a SIGINT from now on, which is then answered as ever."""

    def note(number: int, frame: types.FrameType | None) -> None:
        _INTERRUPTED.set()
        signal.default_int_handler(number, frame)

    _INTERRUPTED.clear()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, note)
