"""myxtts-data flink: a cluster on this machine."""

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
    "--task-managers", type=click.IntRange(min=1), default=2, show_default=True, help="How many, of a slot each."
)
def up(master: str, task_managers: int) -> None:
    """Fetch what is needed, start what does not run, wait until it takes jobs."""
    from pipelines.execution.flink.cluster import Cluster, local_master
    from pipelines.execution.flink.install import install
    from pipelines.execution.flink.status import status_lines

    cluster = Cluster(local_master(master), files=install(click.echo))
    if not cluster.up(task_managers=task_managers):
        click.echo("it was up")
    click.echo("\n".join(status_lines(cluster)))


@flink.command()
@_master
@click.option("--force", is_flag=True, help="Also where jobs run, which end with it.")
def down(master: str, force: bool) -> None:
    """End the cluster and everything that it started."""
    from pipelines.execution.flink.cluster import Cluster, local_master
    from pipelines.execution.flink.install import installation

    cluster = Cluster(local_master(master), files=installation())
    if not force:
        _refuse_while_jobs_run(cluster.master)
    ended = cluster.down()
    click.echo(f"{ended} processes ended" if ended else "nothing was running")


def _refuse_while_jobs_run(master: str) -> None:
    from pipelines.execution.flink.jobs import running_jobs
    from pipelines.execution.flink.rest import Unreachable

    with contextlib.suppress(Unreachable):  # then none does
        names = ", ".join(job.name for job in running_jobs(master))
        if names:
            message = f"{names} would end with the cluster at {master}; wait for that"
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
