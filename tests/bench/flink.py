"""A Flink cluster of one and of two TaskManagers on this machine: what a job costs, and what the second one gives.

    python -m tests.bench.flink

A job with nothing to do is the fixed cost of any: the client's graph, its submission, Python workers that start.
It is measured through the same `run_graph` that builds use, and told apart by the moments that Flink and the
driver know. What two TaskManagers give is the ratio of two builds of one corpus, each less the fixed cost of its
cluster. Clusters and their ports are this program's own.
"""

from __future__ import annotations

import logging
import os
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path

import apache_beam as beam

from pipelines.build import build_dataset
from pipelines.flink.cluster import Cluster
from pipelines.flink.install import install
from pipelines.flink.processes import free_port
from pipelines.flink.rest import ask
from pipelines.runners import choose_workers, run_graph
from tests.bench.corpus import bench_config

EMPTY_REPEATS, FIXED_COST_S = 5, 18.0
CLIPS, REPEATS, SPEED_UP = 6_400, 3, 1.6


def main() -> None:
    """Print what a job costs and what a second TaskManager gives."""
    logging.getLogger("apache_beam").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder
        clusters = {count: up(count) for count in (1, 2)}
        try:
            compare(clusters, folder=Path(folder))
        finally:
            for cluster in clusters.values():
                cluster.down()


def up(task_managers: int) -> Cluster:
    """A cluster that has already run a job: the first one loads the classes of three Java processes."""
    began_s = time.perf_counter()
    cluster = Cluster(f"localhost:{free_port()}", files=install(print))
    cluster.up(task_managers=task_managers)
    up_s = time.perf_counter() - began_s
    first_s = timed(lambda: empty_job(cluster))
    print(f"{task_managers} TaskManager(s): up in {up_s:.1f} s, its first job, which is empty, {first_s:.1f} s")
    return cluster


def compare(clusters: dict[int, Cluster], *, folder: Path) -> None:
    """Fixed costs first, then the builds less those."""
    fixed_s = {count: empty_cost(cluster, task_managers=count) for count, cluster in clusters.items()}
    print(stages(clusters[2]), flush=True)
    built = interleaved_builds(clusters, folder=folder)
    pairs = zip(built[1], built[2], strict=True)
    ratios = [(one_s - fixed_s[1]) / (two_s - fixed_s[2]) for one_s, two_s in pairs]
    one_s, two_s = (statistics.median(built[count]) for count in (1, 2))
    print(
        f"build of {CLIPS} clips: {one_s:.1f} s on one TaskManager, {two_s:.1f} s on two; less the empty jobs "
        f"{statistics.median(ratios):.2f} times as fast ({', '.join(f'{ratio:.2f}' for ratio in ratios)}; "
        f"wanted {SPEED_UP} on two free cores, here are {os.cpu_count()})"
    )


def empty_cost(cluster: Cluster, *, task_managers: int) -> float:
    """Seconds, the median."""
    seconds = [timed(lambda: empty_job(cluster)) for _ in range(EMPTY_REPEATS)]
    median_s = statistics.median(seconds)
    print(
        f"{task_managers} TaskManager(s): an empty job {median_s:.1f} s "
        f"({min(seconds):.1f} to {max(seconds):.1f}; wanted at most {FIXED_COST_S:.0f})"
    )
    return median_s


def interleaved_builds(clusters: dict[int, Cluster], *, folder: Path) -> dict[int, list[float]]:
    """Seconds of each, in turn, as the machine's speed drifts."""
    config = bench_config(folder / "bench", clips=CLIPS)
    built: dict[int, list[float]] = {count: [] for count in clusters}
    for repeat in range(REPEATS):
        for count, cluster in clusters.items():
            use(cluster)
            built[count].append(
                timed(partial(build_dataset, config, data=folder / f"{repeat}-{count}", runner="flink"))
            )
    return built


def timed(work: Callable[[], object]) -> float:
    began_s = time.perf_counter()
    work()
    return time.perf_counter() - began_s


def use(cluster: Cluster) -> None:
    """RUNNER=flink means this one from here on."""
    os.environ["FLINK_MASTER"] = cluster.master


def empty_job(cluster: Cluster) -> None:
    """Two stages with a shuffle between them, as a build has, of three numbers."""
    use(cluster)

    def graph(pipeline: beam.Pipeline) -> object:
        return pipeline | beam.Create([1, 2, 3]) | beam.Reshuffle() | beam.Map(str)

    workers = choose_workers(None, utterances=3, runner="flink")
    run_graph(graph, runner="flink", workers=workers, name=f"bench-{uuid.uuid4().hex}")


def stages(cluster: Cluster) -> str:
    """Where the seconds of an empty job go, of one more."""
    began_s = time.time()
    empty_job(cluster)
    ended_s = time.time()
    newest = max(ask(cluster.master, "/jobs/overview")["jobs"], key=lambda one: one["start-time"])
    job = ask(cluster.master, f"/jobs/{newest['jid']}")
    at_s = {name: job[f"{name}-time"] / 1000 for name in ("start", "end")}
    first_s = min(one["end-time"] for one in job["vertices"] if "Impulse" not in one["name"]) / 1000
    told = {
        "until Flink has the job": at_s["start"] - began_s,
        "until the workers have answered": first_s - at_s["start"],
        "for the rest of the stages": at_s["end"] - first_s,
        "until the driver knows": ended_s - at_s["end"],
    }
    return "of one more: " + ", ".join(f"{seconds:.1f} s {what}" for what, seconds in told.items())


if __name__ == "__main__":
    main()
