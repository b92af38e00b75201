"""Benchmark of the input stall with a simulated GPU, of the highest rate of the loader, and of allocator settings.

    python -m tests.bench.waiting

The stand-in for the GPU is a step that sleeps 50 ms, so that two cores are the loader's own as they are beside a GPU:
640 clips/s in batches of 32. A GPU works at one step while the next is handed over: a thread that takes batches from a
queue of one stands for it, and its stall is the time that it stood idle. Beside it the harder case of a step that is
waited for, as on a CPU, where all that `next` takes is stall: by training's own stopwatch, and by the clock on the
wall, which is what is left of it when the sleeps are taken off. Each setting of the allocator has its own process.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench.summary import add_row

CLIPS = 1_600
CLIPS_PER_BATCH = 32
MIN_CLIPS = 16_000  # of one measurement of the rate
STEP_S = 0.05
STEPS = 200
REPEATS = 3
CORES = 2
MAX_STALL = 0.01


def main() -> None:
    """Print the table."""
    from pipelines.build.build_dataset import build_dataset
    from tests.bench.corpus import bench_config

    logging.getLogger("apache_beam").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        build_dataset(bench_config(Path(folder), clips=CLIPS), data=data)
        rounds = [{name: _measure_apart(data, allocator=name) for name in ("tuned", "plain")} for _ in range(REPEATS)]
    print(
        f"loader over {CLIPS} clips, {CLIPS_PER_BATCH} a batch, {CORES} cores, {REPEATS} interleaved repeats, medians"
    )
    for name in rounds[0]:
        print(f"allocator {name}: {_words({key: [one[name][key] for one in rounds] for key in rounds[0][name]})}")
    print(f"expected: stall at most {MAX_STALL:.0%}")
    stall = statistics.median(one["tuned"]["idle"] for one in rounds)
    add_row(
        "waiting",
        "stall of a device",
        measured=f"{stall:.2%}",
        floor=f"a step of {1000 * STEP_S:.0f} ms",
        bound=f"≤ {MAX_STALL:.0%}",
        met=stall <= MAX_STALL,
    )


def _words(values: dict[str, list[float]]) -> str:
    """Medians of the measurements."""
    return (
        "{clips_per_s:,.0f} clips/s, {cpu_s:.3f} CPU s/1000 clips, {faults:.1f} page faults a clip; with steps of "
        "{step_ms:.1f} ms stall {idle:.2%}, and where each is waited for {stall:.2%} by the stopwatch, "
        "{stall_by_wall:.2%} by the wall, longest wait {wait_max_ms:.1f} ms"
    ).format(**{name: statistics.median(repeats) for name, repeats in values.items()})


def _measure_apart(data: Path, *, allocator: str) -> dict[str, float]:
    """Measure in a process with these settings."""
    words = [sys.executable, "-m", "tests.bench.waiting", str(data), allocator]
    answer = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(answer.stdout.splitlines()[-1])


def _child(data: Path, *, allocator: str) -> None:
    """Measure in this process; TensorFlow is imported after the allocator and the cores are set."""
    from trainer.platform.tf_setup import start_tensorflow

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    start_tensorflow(plain_malloc=allocator == "plain")
    from shared.dataset import Dataset
    from trainer.config.data_config import InputConfig
    from trainer.data.pipeline import Stream
    from trainer.data.plan import plan_dataset

    dataset = Dataset.open(data)
    config = InputConfig(buckets=8, global_frames_per_batch=1 << 30, global_max_clips=CLIPS_PER_BATCH)
    plan = plan_dataset(dataset, config=config, frames_per_step=4, steps=100)
    batches = iter(Stream(dataset, split="train", plan=plan, config=config, seed=1).endless(device="/CPU:0"))
    _read_clips(batches, at_least=CLIPS)  # files into the cache, memory from the system
    print(json.dumps({**_rate(batches), **_idle(batches), **_stall(batches)}))


def _read_clips(batches: Iterator[Any], *, at_least: int) -> int:
    clips = 0
    while clips < at_least:
        clips += int((next(batches)["frames"].numpy() > 0).sum())
    return clips


def _rate(batches: Iterator[Any]) -> dict[str, float]:
    """Rate of the loader without steps."""
    import resource

    from tests.bench.measure import measure

    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    measured = measure(lambda: _read_clips(batches, at_least=MIN_CLIPS))
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    return {
        "clips_per_s": measured.clips_per_s,
        "cpu_s": 1000 * measured.cpu_s / measured.clips,
        "faults": faults / measured.clips,
    }


def _idle(batches: Iterator[Any]) -> dict[str, float]:
    """Stall with steps that run on a device asynchronously."""
    waiting: queue.Queue[Any] = queue.Queue(maxsize=1)
    idle_s: list[float] = []

    def work() -> None:
        while True:
            began_s = time.monotonic()
            if waiting.get() is None:
                return
            idle_s.append(time.monotonic() - began_s)
            time.sleep(STEP_S)

    device = threading.Thread(target=work)
    device.start()
    for _, batch in zip(range(STEPS), batches, strict=False):
        waiting.put(batch)
    waiting.put(None)
    device.join()
    idle = sum(idle_s[1:])  # before the first step there is no work yet
    return {"idle": idle / (idle + STEPS * STEP_S)}


def _stall(batches: Iterator[Any]) -> dict[str, float]:
    """Stall with steps that sleep in the loop."""
    from trainer.monitoring.step_timer import StepTimer

    slept_s, started_s = 0.0, time.monotonic()
    with StepTimer(asynchronous=False) as timer:
        for _, batch in zip(range(STEPS), timer.batches(batches), strict=False):
            began_s = time.monotonic()
            time.sleep(STEP_S)
            slept_s += time.monotonic() - began_s
            frames = batch["frames"].numpy()
            timer.record_step((frames.sum(), (frames > 0).sum()), compiled=False)
        figures = timer.read().metrics()
    elapsed_s = time.monotonic() - started_s
    return {
        "step_ms": 1000 * slept_s / STEPS,
        "stall": figures["stall"],
        "stall_by_wall": 1 - slept_s / elapsed_s,
        "wait_max_ms": figures["wait_max_ms"],
    }


if __name__ == "__main__":
    _child(Path(sys.argv[1]), allocator=sys.argv[2]) if sys.argv[1:] else main()
