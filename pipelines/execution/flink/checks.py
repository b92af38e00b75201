"""Checks of Flink: those of the doctor, in the order in which a user would fix them, and those before a job."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from pipelines.execution.flink.cluster import Cluster
from pipelines.execution.flink.environment import job_server_jar_from_env, master_from_env, worker_pool_from_env
from pipelines.execution.flink.install import installation
from pipelines.execution.flink.java import java_home, maven
from pipelines.execution.flink.processes import is_port_open
from pipelines.execution.flink.responses import class_path, overview
from pipelines.execution.flink.rest import Unreachable
from pipelines.execution.flink.restart_strategy import check_restart_strategy
from pipelines.execution.flink.versions import sums, versions
from shared.errors import UserError


def flink_checks() -> Iterator[tuple[str, Callable[[], str]]]:
    """Pairs of a name and a check, which returns what it found or raises a UserError with what to do."""
    yield "worker", _worker
    yield "Java", lambda: f"{versions().java} in {java_home()}"
    yield "Maven", _maven
    yield "Flink's files", _installed_files
    yield "cluster", _cluster
    yield "restarts", _restarts
    yield "job server", _job_server


def worker_launcher_path() -> str:
    """The path of the worker launcher in this environment; it must be the same on every machine of a cluster.

    Raises:
        UserError: the launcher is not installed.
    """
    command = Path(sys.executable).with_name("myxtts-flink-worker")
    if not os.access(command, os.X_OK):
        raise UserError(f"{command}: no such program; install this project again (`make setup`)")
    return str(command)


def count_slots(master: str) -> int:
    """The number of tasks that the cluster runs at a time.

    Raises:
        UserError: the cluster does not answer, has no slots, or does not fit the version of the job server.
    """
    whole = overview(master)
    found, line = whole.version, versions().flink_line
    if not found.startswith(f"{line}.") and job_server_jar_from_env() is None:
        raise UserError(
            f"the cluster at {master} is Flink {found}, the job server here is for {line}; set FLINK_JOB_SERVER_JAR to "
            f"Beam's one-file job server for Flink {found.rpartition('.')[0]}"
        )
    if not whole.slots:
        raise UserError(f"the Flink cluster at {master} has no TaskManager; start one (here: `make flink-up`)")
    return whole.slots


def check_job_server_jar(master: str) -> Path | None:
    """The job server that the user provides; it submits its jars to the cluster with each job.

    The cluster must not have these jars itself: a TaskManager that loads a class from two places fails all jobs.

    Raises:
        UserError: the file does not exist, or the cluster has Beam's jars.
    """
    jar = job_server_jar_from_env()
    if jar is not None and cluster_has_beam_runner(master):
        raise UserError(f"the cluster at {master} has Beam's jars on its class path; unset FLINK_JOB_SERVER_JAR")
    return jar


def cluster_has_beam_runner(master: str) -> bool:
    """True if the class path of the cluster contains Beam's runner.

    Raises:
        UserError: the cluster has another version of Beam's runner.
    """
    found = {Path(one).name for one in class_path(master)}
    runners = sorted(name for name in found if name.startswith("beam-runners-flink"))
    if runners and runners[0] not in sums():
        raise UserError(f"the cluster at {master} has {runners[0]} on its class path, here is Beam {versions().beam}")
    return bool(runners)


def _worker() -> str:
    pool = worker_pool_from_env()
    if pool is None:
        return worker_launcher_path()
    return f"of the pool at {pool} beside each TaskManager, which is not checked from here"


def _maven() -> str:
    if job_server_jar_from_env() is not None:
        return "not needed with FLINK_JOB_SERVER_JAR"
    if installation().exists:
        return "not needed: Flink is installed"
    return maven()


def _installed_files() -> str:
    if job_server_jar_from_env() is not None:
        return "not needed with FLINK_JOB_SERVER_JAR"
    found = installation()
    if not found.exists:
        raise UserError("not installed; `make flink-up` installs them (300 MB)")
    damaged = found.damaged()
    if damaged:
        raise UserError(f"{', '.join(damaged)} damaged; rm -r {found.root}, then `make flink-up`")
    return f"Flink {versions().flink}, Beam's job server {versions().beam}, whole, in {found.root}"


def _cluster() -> str:
    """Version and slots of the cluster, or a hint that another program uses its port."""
    master = master_from_env()
    try:
        return f"Flink {overview(master).version} at {master}, {count_slots(master)} slots"
    except Unreachable as error:
        host, _, port = master.rpartition(":")
        if host == "localhost" and is_port_open(int(port)):
            raise UserError(
                f"port {port} is used by another program; FLINK_MASTER=localhost:PORT names a free one"
            ) from error
        raise


def _restarts() -> str:
    """The restart strategy of the cluster."""
    try:
        return check_restart_strategy(master_from_env())
    except Unreachable:
        return "not known yet"  # the check of the cluster reports why


def _job_server() -> str:
    """The job server of the cluster, or the one that a run would start."""
    jar = job_server_jar_from_env()
    if jar is not None:
        with contextlib.suppress(Unreachable):  # the check of the cluster reports it
            check_job_server_jar(master_from_env())
        return f"{jar}, started for each run"
    found = Cluster(master_from_env(), files=installation()).processes()
    if found.job_server is None:
        return "none runs; one is started for each run, and Beam's jars travel with it"
    if not is_port_open(int(found.endpoint.rpartition(":")[2])):
        raise UserError(f"process {found.job_server.pid} does not listen; `make flink-down flink-up`")
    return f"{found.endpoint} (process {found.job_server.pid})"
