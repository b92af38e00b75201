"""Jobs of a cluster, which outlive their driver: the dataset's lock names them, so that two never write at once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import click

from pipelines.flink.jobs import JobFailed, cancel_job, find_job, wait_for_job
from pipelines.flink.rest import Unreachable
from pipelines.runners import master_of
from shared.errors import UserError
from shared.lock import Job as NotedJob
from shared.lock import Lock


@contextlib.contextmanager
def noted_job(lock: Lock, *, runner: str, name: str) -> Iterator[None]:
    """Name the job in the lock before the body sends it, and until it is known to have ended."""
    master = master_of(runner)
    if master is None:
        yield
        return
    lock.set_job(NotedJob(master=master, name=name))
    try:
        yield
    finally:
        with contextlib.suppress(Unreachable):
            job = find_job(master, name=name)
            if job is None or job.ended:
                lock.set_job(None)


def end_left_job(lock: Lock, *, is_of_use: bool) -> None:
    """Wait for the end of the job that the lock names if its shards are `of use`, else cancel it.

    Raises:
        UserError: its cluster cannot be asked, and the user does not say that it is gone.
    """
    left = lock.left
    if left is None or left.job is None:
        return
    try:
        _end(left.job.master, name=left.job.name, is_of_use=is_of_use)
    except Unreachable as error:
        if not lock.is_broken:
            message = f"{left} left the job {left.job.name} on {left.job.master}, which cannot be asked whether it runs"
            raise UserError(f"{message}; mend that, or give --break-lock if it is gone") from error
    lock.set_job(None)


def _end(master: str, *, name: str, is_of_use: bool) -> None:
    job = find_job(master, name=name)
    if job is None or job.ended:
        return
    try:
        if is_of_use:
            click.echo(f"{name} of a driver that is gone still runs on {master}: its shards are waited for", err=True)
            wait_for_job(master, job.id)
        else:
            click.echo(f"{name} of a driver that is gone still runs on {master}: it is cancelled", err=True)
            cancel_job(master, job.id)
    except Unreachable:
        raise
    except (JobFailed, UserError) as error:  # it has ended, as was wanted; what it finished is of use all the same
        click.echo(f"{name} ended: {error}", err=True)
