"""What runs, in a few lines."""

from __future__ import annotations

from pipelines.flink.cluster import Cluster
from pipelines.flink.jobs import running_jobs
from pipelines.flink.rest import Unreachable, ask


def status_lines(cluster: Cluster) -> list[str]:
    """Cluster, slots, TaskManagers, job server, running jobs."""
    found = cluster.processes()
    try:
        overview, jobs = ask(cluster.master, "/overview"), running_jobs(cluster.master)
    except Unreachable as error:
        left = len(found.all())
        return [str(error), *([f"{left} processes of it are still there; `make flink-down` ends them"] if left else [])]
    server = f"{found.endpoint} (process {found.job_server.pid})" if found.job_server else "none here; a run starts one"
    rows = {
        "cluster": f"Flink {overview['flink-version']} at http://{cluster.master}",
        "TaskManagers": str(overview["taskmanagers"]),
        "free slots": f"{overview['slots-available']} of {overview['slots-total']}",
        "job server": server,
        "processes": ", ".join(str(one.pid) for one in found.all()) or "not started from here",
        "logs": str(cluster.folder / "log") if found.all() else "not started from here",
        "running jobs": ", ".join(f"{job.name} ({job.id}, {job.state})" for job in jobs) or "none",
    }
    return [f"{name:13} {value}" for name, value in rows.items()]
