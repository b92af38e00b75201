"""What tests do to a Flink cluster: look at its workers, kill what runs on it in the middle of a build."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from pipelines.execution.flink import launcher
from pipelines.execution.flink.cluster import Cluster
from pipelines.execution.flink.rest import rest_request

WORKER = "myxtts-flink-worker"


def workers(cluster: Cluster) -> list[int]:
    """Process numbers of the Python workers that the cluster's TaskManagers started and are there for."""
    managers = {one.pid for one in cluster.processes().task_managers}
    return [pid for pid, parent in worker_processes().items() if parent in managers]


def worker_processes() -> dict[int, int]:
    """Parents of all Python workers of this environment by their numbers, also of those that nobody is there for."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if str(Path(sys.executable).with_name(WORKER)) in (folder / "cmdline").read_text():
                found[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has just ended
    return found


def kill_a_worker(cluster: Cluster) -> None:
    os.kill(workers(cluster)[0], signal.SIGKILL)


def kill_a_task_manager(cluster: Cluster) -> None:
    """And start another in its place."""
    killed = cluster.processes().task_managers[0]
    os.kill(killed.pid, signal.SIGKILL)
    while killed.alive:  # its memory is large
        time.sleep(0.01)
    assert cluster.up()
    while rest_request(cluster.master, "/overview")["taskmanagers"] != len(cluster.processes().task_managers):
        time.sleep(0.2)  # Flink still counts the one that it has not missed yet


def after_some_progress(staging: Path, action: Callable[[], None], *, from_: int) -> threading.Thread:
    """A thread that does it once so many utterances are measured; join it."""

    def watch() -> None:
        end_s = time.monotonic() + 300
        while time.monotonic() < end_s:
            if sum(int(path.read_text() or 0) for path in staging.glob("*/progress/*")) >= from_:
                action()
                return
            time.sleep(0.02)

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def failures(cluster: Cluster, job_id: str) -> list[str]:
    """What Flink remembers of the failures that a job recovered from."""
    history = rest_request(cluster.master, f"/jobs/{job_id}/exceptions")["exceptionHistory"]["entries"]
    return [str(one["stacktrace"]) for one in history]


def newest_job(cluster: Cluster) -> str:
    return str(max(rest_request(cluster.master, "/jobs/overview")["jobs"], key=lambda one: one["start-time"])["jid"])


def wait_for_no_worker() -> bool:
    """Whether all workers go by themselves within the time that a launcher waits for its TaskManager."""
    end_s = time.monotonic() + launcher.PROVISION_S + 10
    while worker_processes() and time.monotonic() < end_s:
        time.sleep(0.1)
    return worker_processes() == {}
