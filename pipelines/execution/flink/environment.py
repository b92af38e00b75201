"""Environment variables for Flink, and the folders of its installation and of running clusters."""

from __future__ import annotations

import os
from pathlib import Path

from shared.errors import UserError

DEFAULT_MASTER = "localhost:8081"


def cache_folder() -> Path:
    """Folder of files that can be downloaded again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "myxtts"


def state_folder() -> Path:
    """Folder of logs and of other state."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "myxtts"


def cluster_folder(master: str) -> Path:
    """Folder of a cluster's state: configuration, logs, process ids."""
    return state_folder() / f"flink-{master.replace(':', '-')}"


def master_from_env() -> str:
    """host:port of the cluster's REST service: FLINK_MASTER, by default that of `make flink-up`."""
    return check_master(os.environ.get("FLINK_MASTER") or DEFAULT_MASTER)


def check_master(master: str) -> str:
    """host:port without scheme and trailing slash.

    Raises:
        UserError: the text is not host:port.
    """
    bare = master.removeprefix("http://").rstrip("/")
    if not _is_host_and_port(bare):
        raise UserError(f"FLINK_MASTER={master}: expected host:port of Flink's REST service, such as {DEFAULT_MASTER}")
    return bare


def worker_pool_from_env() -> str | None:
    """host:port of the worker pool beside each TaskManager: FLINK_ENVIRONMENT=EXTERNAL:host:port.

    None if TaskManagers start workers themselves.

    Raises:
        UserError: the variable has another form.
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
    """The user's one-file job server: FLINK_JOB_SERVER_JAR; None if it is not set.

    Raises:
        UserError: the file does not exist.
    """
    named = os.environ.get("FLINK_JOB_SERVER_JAR")
    if not named:
        return None
    path = Path(named).expanduser().absolute()
    if not path.is_file():
        raise UserError(f"FLINK_JOB_SERVER_JAR={named}: no such file; expected Beam's one-file job server for Flink")
    return path
