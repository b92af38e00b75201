"""Helpers for tests on a Flink cluster: find, pause and kill its workers and TaskManagers while a job runs."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from pipelines.execution.flink import launcher
from pipelines.execution.flink.cluster import Cluster
from pipelines.execution.flink.rest import rest_request

WORKER = "myxtts-flink-worker"


def workers(cluster: Cluster) -> list[int]:
    """Process ids of the Python workers whose parent is a live TaskManager of the cluster."""
    managers = {one.pid for one in cluster.processes().task_managers}
    return [pid for pid, parent in worker_processes().items() if parent in managers]


def worker_processes() -> dict[int, int]:
    """Parent process id by process id of all Python workers of this environment, orphans included."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if str(Path(sys.executable).with_name(WORKER)) in (folder / "cmdline").read_text():
                found[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has just ended
    return found


def pause(cluster: Cluster) -> list[int]:
    """Stop all workers, so that a running job cannot end before `resume`; their process ids."""
    found = workers(cluster)
    for pid in found:
        os.kill(pid, signal.SIGSTOP)
    return found


def resume(pids: Iterable[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def kill_a_worker(cluster: Cluster) -> None:
    killed, *others = pause(cluster)  # none of them finishes its shards before the kill
    os.kill(killed, signal.SIGKILL)
    resume(others)


def kill_a_task_manager(cluster: Cluster) -> None:
    """Kill one TaskManager and start another."""
    paused = pause(cluster)
    killed = cluster.processes().task_managers[0]
    os.kill(killed.pid, signal.SIGKILL)
    resume(paused)
    while killed.alive:  # its memory is large
        time.sleep(0.01)
    assert cluster.up()
    while rest_request(cluster.master, "/overview")["taskmanagers"] != len(cluster.processes().task_managers):
        time.sleep(0.1)  # Flink counts the killed TaskManager until its heartbeat times out


def after_some_progress(staging: Path, action: Callable[[], None], *, from_: int) -> threading.Thread:
    """Start a thread that calls `action` once the job has prepared `from_` utterances; the caller joins the thread."""

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
    """Stack traces of the failures from which a job has recovered."""
    history = rest_request(cluster.master, f"/jobs/{job_id}/exceptions")["exceptionHistory"]["entries"]
    return [str(one["stacktrace"]) for one in history]


def newest_job(cluster: Cluster) -> str:
    return str(max(rest_request(cluster.master, "/jobs/overview")["jobs"], key=lambda one: one["start-time"])["jid"])


def wait_for_no_worker() -> bool:
    """True if all workers end by themselves within the time that a launcher waits for its TaskManager."""
    end_s = time.monotonic() + launcher.PROVISION_S + 10
    while worker_processes() and time.monotonic() < end_s:
        time.sleep(0.1)
    return worker_processes() == {}
