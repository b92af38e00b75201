"""Starts Beam's job server, which receives a portable pipeline and submits it to a Flink cluster."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pipelines.execution.flink.install import Installation
from pipelines.execution.flink.java import ADD_OPENS, JVM_FLAGS, java_home
from pipelines.execution.flink.processes import free_port, is_port_open
from shared.errors import UserError

DRIVER = "org.apache.beam.runners.flink.FlinkJobServerDriver"
START_S = 120.0

# The command ends when its stdin is closed, that is, also if the parent process is killed.
CHILD_SCRIPT = '"$@" </dev/null & cat >/dev/null; kill $!; wait $!'


def command(class_path: str, *, log_config: Path | None, master: str, port: int, folder: Path) -> list[str]:
    """The command line; the one-file job server (`log_config` is None) has its own logging."""
    return [
        str(java_home() / "bin" / "java"),
        "-Xmx512m",
        *ADD_OPENS,
        *JVM_FLAGS,
        *([f"-Dlog4j.configurationFile=file:{log_config}"] if log_config else []),
        f"-Dlog.file={folder / 'log' / 'job-server.log'}",
        "-Dconsole.log.level=OFF",
        *("-cp", class_path, DRIVER),
        f"--flink-master={master}",
        *("--job-host=localhost", f"--job-port={port}", "--artifact-port=0", "--expansion-port=0"),
        f"--artifacts-dir={folder / 'artifacts'}",
    ]


def bundled_class_path(files: Installation) -> str:
    """Class path for a cluster that has all jars itself: no jar is submitted with a job."""
    return f"{files.jars}/*"


def submitted_class_path(files: Installation) -> str:
    """Class path for any other cluster: Beam's jars are submitted with each job, Flink's are there."""
    own = [*sorted(files.jars.glob("flink-dist-*.jar")), *sorted(files.jars.glob("log4j-*.jar"))]
    return os.pathsep.join([f"{files.runner_jars}/*", *map(str, own)])


@contextlib.contextmanager
def child_job_server(master: str, *, folder: Path, class_path: str, log_config: Path | None = None) -> Iterator[str]:
    """Run a job server while the body runs; its host:port. It also ends if this process is killed.

    Raises:
        UserError: the job server does not start.
    """
    port = free_port()
    words = command(class_path, log_config=log_config, master=master, port=port, folder=folder)
    with run_job_server(words, port=port, folder=folder) as endpoint:
        yield endpoint


@contextlib.contextmanager
def run_job_server(words: list[str], *, port: int, folder: Path) -> Iterator[str]:
    """Run a command that listens at a port while the body runs; its host:port. It also ends if this process is killed.

    Raises:
        UserError: it does not start.
    """
    (folder / "log").mkdir(parents=True, exist_ok=True)
    with (folder / "log" / "job-server.out").open("ab") as out:
        leash = subprocess.Popen(
            ["sh", "-c", CHILD_SCRIPT, "sh", *words],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
        assert leash.stdin is not None
        try:
            wait_until_it_listens(port, log=folder / "log", alive=lambda: leash.poll() is None)
            yield f"localhost:{port}"
        finally:
            leash.stdin.close()
            leash.wait()


def wait_until_it_listens(port: int, *, log: Path, alive: Callable[[], bool]) -> None:
    """Wait until the port is open.

    Raises:
        UserError: the process has ended, or takes too long.
    """
    end_s = time.monotonic() + START_S
    while not is_port_open(port):
        if not alive() or time.monotonic() > end_s:
            raise UserError(f"Beam's job server did not start; its log is in {log}")
        time.sleep(0.1)
