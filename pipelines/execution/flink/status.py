"""What runs, in a few lines."""

from __future__ import annotations

from pipelines.execution.flink.cluster import Cluster
from pipelines.execution.flink.jobs import running_jobs
from pipelines.execution.flink.responses import overview
from pipelines.execution.flink.rest import Unreachable


def status_lines(cluster: Cluster) -> list[str]:
    """Cluster, slots, TaskManagers, job server, running jobs."""
    found = cluster.processes()
    try:
        whole, jobs = overview(cluster.master), running_jobs(cluster.master)
    except Unreachable as error:
        left = len(found.all())
        return [str(error), *([f"{left} processes of it are still there; `make flink-down` ends them"] if left else [])]
    server = f"{found.endpoint} (process {found.job_server.pid})" if found.job_server else "none here; a run starts one"
    rows = {
        "cluster": f"Flink {whole.version} at http://{cluster.master}",
        "TaskManagers": str(whole.task_managers),
        "free slots": f"{whole.free_slots} of {whole.slots}",
        "job server": server,
        "processes": ", ".join(str(one.pid) for one in found.all()) or "not started from here",
        "logs": str(cluster.folder / "log") if found.all() else "not started from here",
        "running jobs": ", ".join(f"{job.name} ({job.id}, {job.state})" for job in jobs) or "none",
    }
    return [f"{name:13} {value}" for name, value in rows.items()]
