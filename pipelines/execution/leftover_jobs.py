"""Jobs of a cluster, which outlive their driver: the dataset's lock names them, so that two never write at once."""

from __future__ import annotations

import contextlib
import datetime
import time
from collections.abc import Iterator

import click

from pipelines.execution.flink.jobs import FlinkJob, JobFailed, cancel_job, find_job, wait_for_job
from pipelines.execution.flink.rest import Unreachable
from pipelines.execution.runners import master_address
from shared.errors import UserError
from shared.lock_holder import ClusterJob as RegisteredJob
from shared.locks import Lock

# From its note to Flink's list a job takes seconds, and the job server may outlive the driver that asked it.
ARRIVAL_S = 60.0
INTERVAL_S = 0.5


@contextlib.contextmanager
def registered_job(lock: Lock, *, runner: str, name: str, work: str) -> Iterator[None]:
    """Name the job in the lock before the body sends it, and until it is known to have ended."""
    master = master_address(runner)
    if master is None:
        yield
        return
    lock.set_job(RegisteredJob(master=master, name=name, work=work, since=datetime.datetime.now(datetime.UTC)))
    may_arrive = True
    try:
        yield
        may_arrive = False
    except UserError as error:
        may_arrive = isinstance(error, Unreachable)
        raise
    finally:
        with contextlib.suppress(Unreachable):
            job = find_job(master, name=name)
            if job.ended if job is not None else not may_arrive:
                lock.set_job(None)


def end_leftover_job(lock: Lock, *, work: str | None) -> None:
    """Wait for the end of the job that the lock names if its work is the one given, else cancel it.

    Raises:
        UserError: its cluster cannot be asked, and the user does not say that it is gone.
    """
    left = lock.stale
    if left is None or left.job is None:
        return
    try:
        _end(left.job, is_of_use=left.job.work == work)
    except Unreachable as error:
        if not lock.is_broken:
            message = f"{left} left the job {left.job.name} on {left.job.master}, which cannot be asked whether it runs"
            raise UserError(f"{message}; mend that, or give --break-lock if it is gone") from error
    lock.set_job(None)


def _end(noted: RegisteredJob, *, is_of_use: bool) -> None:
    master, name, job = noted.master, noted.name, _arrived(noted)
    if job is None or job.ended:
        return
    try:
        if is_of_use:
            click.echo(f"{name} of a driver that is gone still runs on {master}: its shards are waited for", err=True)
            wait_for_job(master, job)
        else:
            click.echo(f"{name} of a driver that is gone still runs on {master}: it is cancelled", err=True)
            cancel_job(master, job)
    except Unreachable:
        raise
    except (JobFailed, UserError) as error:  # it has ended, as was expected; what it finished is of use all the same
        click.echo(f"{name} ended: {error}", err=True)


def _arrived(noted: RegisteredJob) -> FlinkJob | None:
    """As Flink lists it; None where it does not, and will not any more."""
    age_s = (datetime.datetime.now(datetime.UTC) - noted.since).total_seconds()
    left_s = min(ARRIVAL_S - age_s, ARRIVAL_S)  # clocks differ from machine to machine
    job, end_s = find_job(noted.master, name=noted.name), time.monotonic() + left_s
    if job is None and left_s > 0:
        click.echo(f"{noted.name} may be on its way to {noted.master}: looked for there for {left_s:.0f} s", err=True)
    while job is None and time.monotonic() < end_s:
        time.sleep(INTERVAL_S)
        job = find_job(noted.master, name=noted.name)
    return job
