"""Benchmark of Flink with one and with two TaskManagers on this machine: fixed costs and speed-up.

    python -m tests.bench.flink

A job with nothing to do is the fixed cost of any: the client's graph, its submission, Python workers that start.
It is measured through the same `run_graph` that builds use, and told apart by the moments that Flink and the
driver know. What two TaskManagers give is the ratio of two builds of one corpus, each less the fixed cost of its
cluster; beside it stands what two bare processes give over one on the same utterances, since two cores that share
caches, memory and power are seldom twice as fast as one. Clusters and their ports are this program's own.
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
from typing import NamedTuple

import apache_beam as beam

from pipelines.build.build_dataset import build_dataset
from pipelines.config import BuildConfig
from pipelines.execution.flink.cluster import Cluster
from pipelines.execution.flink.install import install
from pipelines.execution.flink.processes import free_port
from pipelines.execution.flink.rest import rest_request
from pipelines.execution.runners import choose_workers, run_graph
from tests.bench.build import bare_loop
from tests.bench.corpus import bench_config
from tests.bench.summary import add_row

EMPTY_REPEATS, FIXED_COST_S = 5, 18.0
CLIPS, REPEATS, SPEED_UP = 6_400, 3, 1.6


def main() -> None:
    """Print the fixed costs of a job and the speed-up by a second TaskManager."""
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
    """A cluster that has run a job, because the first job loads the classes of three Java processes."""
    began_s = time.perf_counter()
    cluster = Cluster(f"localhost:{free_port()}", files=install(print))
    cluster.up(task_managers=task_managers)
    up_s = time.perf_counter() - began_s
    first_s = timed(lambda: empty_job(cluster))
    print(f"{task_managers} TaskManager(s): up in {up_s:.1f} s, its first job, which is empty, {first_s:.1f} s")
    return cluster


def compare(clusters: dict[int, Cluster], *, folder: Path) -> None:
    """Measure fixed costs, then builds, from which the fixed costs are subtracted."""
    fixed_s = {count: empty_cost(cluster, task_managers=count) for count, cluster in clusters.items()}
    print(stages(clusters[2]), flush=True)
    config = bench_config(folder / "bench", clips=CLIPS)
    rounds = [build_round(clusters, config, data=folder / str(repeat)) for repeat in range(REPEATS)]
    built = "build of {clips} clips: {one_s:.1f} s on one TaskManager, {two_s:.1f} s on two; less the empty jobs"
    print(speed_up(built, [one.built_s for one in rounds], less_s=fixed_s), f"; expected {SPEED_UP}", sep="")
    ratio = statistics.median(speed_ups([one.built_s for one in rounds], less_s=fixed_s))
    add_row(
        "flink",
        f"build of {CLIPS:,} clips on two TaskManagers",
        measured=f"{ratio:.2f} times as fast",
        floor="on one",
        bound=f"≥ {SPEED_UP}",
        met=ratio >= SPEED_UP,
    )
    for count, seconds in fixed_s.items():
        what, met = f"empty job, TaskManagers: {count}", seconds <= FIXED_COST_S
        add_row("flink", what, measured=f"{seconds:.1f} s", bound=f"≤ {FIXED_COST_S:.0f} s", met=met)
    bare = "its utterances alone: {one_s:.1f} s in one process, {two_s:.1f} s in two;"
    print(speed_up(bare, [one.bare_s for one in rounds], less_s={1: 0.0, 2: 0.0}))


def speed_up(told: str, rounds: list[dict[int, float]], *, less_s: dict[int, float]) -> str:
    """Medians for one and two TaskManagers, and the median of the ratios of each round."""
    ratios = speed_ups(rounds, less_s=less_s)
    one_s, two_s = (statistics.median(seconds[count] for seconds in rounds) for count in (1, 2))
    every = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    return (
        f"{told.format(clips=CLIPS, one_s=one_s, two_s=two_s)} {statistics.median(ratios):.2f} times as fast ({every})"
    )


def speed_ups(rounds: list[dict[int, float]], *, less_s: dict[int, float]) -> list[float]:
    """Seconds with one over seconds with two, of each round."""
    return [(seconds[1] - less_s[1]) / (seconds[2] - less_s[2]) for seconds in rounds]


def empty_cost(cluster: Cluster, *, task_managers: int) -> float:
    """Median in seconds."""
    seconds = [timed(lambda: empty_job(cluster)) for _ in range(EMPTY_REPEATS)]
    median_s = statistics.median(seconds)
    print(
        f"{task_managers} TaskManager(s): an empty job {median_s:.1f} s "
        f"({min(seconds):.1f} to {max(seconds):.1f}; expected at most {FIXED_COST_S:.0f})"
    )
    return median_s


class Round(NamedTuple):
    """Seconds of one round by the number of TaskManagers or processes."""

    built_s: dict[int, float]
    bare_s: dict[int, float]


def build_round(clusters: dict[int, Cluster], config: BuildConfig, *, data: Path) -> Round:
    """A build on each cluster, and the bare utterances in as many processes."""
    built_s, bare_s = {}, {}
    for count, cluster in clusters.items():
        use(cluster)
        built_s[count] = timed(partial(build_dataset, config, data=data / str(count), runner="flink"))
        bare_s[count] = timed(partial(bare_loop, config, processes=count))
    return Round(built_s, bare_s)


def timed(work: Callable[[], object]) -> float:
    began_s = time.perf_counter()
    work()
    return time.perf_counter() - began_s


def use(cluster: Cluster) -> None:
    """Make RUNNER=flink use this cluster."""
    os.environ["FLINK_MASTER"] = cluster.master


def empty_job(cluster: Cluster) -> None:
    """A job of three numbers with two stages and a shuffle between them, like a build."""
    use(cluster)

    def graph(pipeline: beam.Pipeline) -> object:
        return pipeline | beam.Create([1, 2, 3]) | beam.Reshuffle() | beam.Map(str)

    workers = choose_workers(None, utterances=3, runner="flink")
    run_graph(graph, runner="flink", workers=workers, name=f"bench-{uuid.uuid4().hex}")


def stages(cluster: Cluster) -> str:
    """The phases of an empty job, in seconds."""
    began_s = time.time()
    empty_job(cluster)
    ended_s = time.time()
    newest = max(rest_request(cluster.master, "/jobs/overview")["jobs"], key=lambda one: one["start-time"])
    job = rest_request(cluster.master, f"/jobs/{newest['jid']}")
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
