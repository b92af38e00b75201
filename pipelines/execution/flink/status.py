"""Formats the state of a cluster for the terminal."""

from __future__ import annotations

from pipelines.execution.flink.cluster import Cluster
from pipelines.execution.flink.jobs import running_jobs
from pipelines.execution.flink.responses import overview
from pipelines.execution.flink.rest import Unreachable


def status_lines(cluster: Cluster) -> list[str]:
    """Lines with cluster, slots, TaskManagers, job server and running jobs."""
    found = cluster.processes()
    try:
        state, jobs = overview(cluster.master), running_jobs(cluster.master)
    except Unreachable as error:
        remaining = len(found.all())
        return [
            str(error),
            *([f"{remaining} of its processes are still running; `make flink-down` ends them"] if remaining else []),
        ]
    server = f"{found.endpoint} (process {found.job_server.pid})" if found.job_server else "none; a run starts one"
    rows = {
        "cluster": f"Flink {state.version} at http://{cluster.master}",
        "TaskManagers": str(state.task_managers),
        "free slots": f"{state.free_slots} of {state.slots}",
        "job server": server,
        "processes": ", ".join(str(one.pid) for one in found.all()) or "not started from here",
        "logs": str(cluster.folder / "log") if found.all() else "not started from here",
        "running jobs": ", ".join(f"{job.name} ({job.id}, {job.state})" for job in jobs) or "none",
    }
    return [f"{name:13} {value}" for name, value in rows.items()]
