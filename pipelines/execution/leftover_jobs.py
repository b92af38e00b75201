"""Registers the jobs of a build in the dataset's lock, and ends those that an earlier driver left on a cluster.

A job on a cluster outlives its driver. The lock names the job, so that two jobs never write to one dataset at once.
"""

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

# Flink lists a job seconds after its registration; the job server may submit it even if the driver is dead.
ARRIVAL_S = 60.0
INTERVAL_S = 0.5


@contextlib.contextmanager
def registered_job(lock: Lock, *, runner: str, name: str, work: str) -> Iterator[None]:
    """Register the job in the lock before the body submits it, and until the job is known to have ended."""
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
    """Wait for the job that the lock names if it does the same work, else cancel it.

    Raises:
        UserError: the cluster cannot be reached, and the user does not state that the job is gone.
    """
    left = lock.stale
    if left is None or left.job is None:
        return
    try:
        _wait_or_cancel(left.job, is_same_work=left.job.work == work)
    except Unreachable as error:
        if not lock.is_broken:
            message = f"{left} left the job {left.job.name} on {left.job.master}, which cannot be reached"
            raise UserError(f"{message}; fix that, or give --break-lock if the job is gone") from error
    lock.set_job(None)


def _wait_or_cancel(registered: RegisteredJob, *, is_same_work: bool) -> None:
    master, name, job = registered.master, registered.name, _find_listed_job(registered)
    if job is None or job.ended:
        return
    try:
        if is_same_work:
            click.echo(f"{name} of an earlier driver still runs on {master}: waiting for its shards", err=True)
            wait_for_job(master, job)
        else:
            click.echo(f"{name} of an earlier driver still runs on {master}: it is cancelled", err=True)
            cancel_job(master, job)
    except Unreachable:
        raise
    except (JobFailed, UserError) as error:  # it has ended; the shards that it completed are used
        click.echo(f"{name} ended: {error}", err=True)


def _find_listed_job(registered: RegisteredJob) -> FlinkJob | None:
    """The job as Flink lists it; None if Flink does not list it and will not any more."""
    age_s = (datetime.datetime.now(datetime.UTC) - registered.since).total_seconds()
    left_s = min(ARRIVAL_S - age_s, ARRIVAL_S)  # clocks of machines may differ
    job, end_s = find_job(registered.master, name=registered.name), time.monotonic() + left_s
    if job is None and left_s > 0:
        click.echo(
            f"{registered.name} may be on its way to {registered.master}: waiting up to {left_s:.0f} s for it", err=True
        )
    while job is None and time.monotonic() < end_s:
        time.sleep(INTERVAL_S)
        job = find_job(registered.master, name=registered.name)
    return job
