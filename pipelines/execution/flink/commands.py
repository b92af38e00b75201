"""The commands `myxtts-data flink`: a Flink cluster on this machine."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import click

from pipelines.execution.flink.environment import DEFAULT_MASTER
from shared.errors import UserError


def _master(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--master",
        envvar="FLINK_MASTER",
        default=DEFAULT_MASTER,
        show_default=True,
        help="Its REST service, host:port.",
    )(command)


@click.group()
def flink() -> None:
    """A Flink cluster on this machine: one JobManager, TaskManagers of one slot each, Beam's job server."""


@flink.command()
@_master
@click.option(
    "--task-managers",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="Number of TaskManagers, one slot each.",
)
def up(master: str, task_managers: int) -> None:
    """Install what is missing, start what is not running, and wait until the cluster takes jobs."""
    from pipelines.execution.flink.cluster import Cluster, local_master
    from pipelines.execution.flink.install import install
    from pipelines.execution.flink.status import status_lines

    cluster = Cluster(local_master(master), files=install(click.echo))
    if not cluster.up(task_managers=task_managers):
        click.echo("it was running")
    click.echo("\n".join(status_lines(cluster)))


@flink.command()
@_master
@click.option("--force", is_flag=True, help="Even if jobs are running; they end with the cluster.")
def down(master: str, force: bool) -> None:
    """Stop the cluster and everything that it started."""
    from pipelines.execution.flink.cluster import Cluster, local_master
    from pipelines.execution.flink.install import installation

    cluster = Cluster(local_master(master), files=installation())
    if not force:
        _refuse_while_jobs_run(cluster.master)
    count = cluster.down()
    click.echo(f"{count} processes ended" if count else "nothing was running")


def _refuse_while_jobs_run(master: str) -> None:
    from pipelines.execution.flink.jobs import running_jobs
    from pipelines.execution.flink.rest import Unreachable

    with contextlib.suppress(Unreachable):  # no cluster, no jobs
        names = ", ".join(job.name for job in running_jobs(master))
        if names:
            message = f"{names} would end with the cluster at {master}; wait until the jobs have ended"
            raise UserError(f"{message}, or give --force (`make flink-down ARGS=--force`)")


@flink.command()
@_master
def status(master: str) -> None:
    """Cluster, slots, TaskManagers, job server, running jobs."""
    from pipelines.execution.flink.cluster import Cluster
    from pipelines.execution.flink.environment import check_master
    from pipelines.execution.flink.install import installation
    from pipelines.execution.flink.status import status_lines

    click.echo("\n".join(status_lines(Cluster(check_master(master), files=installation()))))
