"""Where things lie outside the project: what was installed, and what a running cluster keeps."""

from __future__ import annotations

import os
from pathlib import Path

from shared.errors import UserError

DEFAULT_MASTER = "localhost:8081"


def cache_folder() -> Path:
    """Files that can be fetched again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "myxtts"


def cluster_folder(master: str) -> Path:
    """State of the cluster of that address: configuration, logs, process numbers."""
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return state / "myxtts" / f"flink-{master.replace(':', '-')}"


def master_from_env() -> str:
    """host:port of the cluster's REST service: FLINK_MASTER, else that of `make flink-up`."""
    return check_master(os.environ.get("FLINK_MASTER") or DEFAULT_MASTER)


def check_master(master: str) -> str:
    """
    Raises:
        UserError: it is no host:port.
    """
    bare = master.removeprefix("http://").rstrip("/")
    if not _is_host_and_port(bare):
        raise UserError(f"FLINK_MASTER={master}: expected host:port of Flink's REST service, such as {DEFAULT_MASTER}")
    return bare


def worker_pool_from_env() -> str | None:
    """host:port where each TaskManager finds a pool of Python workers that is its own: FLINK_ENVIRONMENT=EXTERNAL:…

    None where TaskManagers start workers themselves.

    Raises:
        UserError: that says something else.
    """
    named = os.environ.get("FLINK_ENVIRONMENT")
    if not named:
        return None
    kind, _, pool = named.partition(":")
    if kind != "EXTERNAL" or not _is_host_and_port(pool):
        raise UserError(
            f"FLINK_ENVIRONMENT={named}: expected EXTERNAL:host:port of the worker pool beside each TaskManager, such "
            "as EXTERNAL:localhost:50000; unset, TaskManagers start the workers"
        )
    return pool


def _is_host_and_port(text: str) -> bool:
    host, _, port = text.rpartition(":")
    return bool(host) and port.isdecimal() and 0 < int(port) < 65_536


def job_server_jar_from_env() -> Path | None:
    """The one-file job server, where the user has one: FLINK_JOB_SERVER_JAR.

    Raises:
        UserError: there is no such file.
    """
    named = os.environ.get("FLINK_JOB_SERVER_JAR")
    if not named:
        return None
    path = Path(named).expanduser().absolute()
    if not path.is_file():
        raise UserError(f"FLINK_JOB_SERVER_JAR={named}: no such file; expected Beam's one-file job server for Flink")
    return path
