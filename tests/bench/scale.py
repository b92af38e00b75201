"""What a build of very many clips takes beside decoding: CPU time a clip, memory of the driver and of the workers.

    python -m tests.bench.scale [clips …]

The metadata, listing, texts, tokens, tables, records, checks, search for copies, sums, report and publication are real.
Decoding, mels and measures are replaced (`stand_ins/sitecustomize.py`): a record has 8 frames in the place of hundreds.
All rows name one of a hundred recordings.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tests.bench.summary import add_row

SIZES = (100_000, 300_000)
WORKERS = 2
MAX_DRIVER_MB, MAX_WORKER_MB, MAX_CPU_MS = 500, 2_000, 1.0
INTERVAL_S = 0.2
WORDS = "the of and to in a is that it was for on are as with his they at be this have from or one had by not".split()


class Cost(NamedTuple):
    """What one build took."""

    clips: int
    seconds: float
    cpu_s: float
    driver_mb: float
    worker_mb: float  # of the largest

    @property
    def cpu_ms(self) -> float:
        """CPU time a clip."""
        return 1000 * self.cpu_s / self.clips


def main(*sizes: int) -> None:
    """Build each size, print its cost, and the slope between the smallest and the largest."""
    with tempfile.TemporaryDirectory() as folder:
        costs = [measure(Path(folder) / str(clips), clips=clips) for clips in sizes or SIZES]
    for cost in costs:
        print(
            f"{cost.clips:>10,} clips: {cost.seconds:7.0f} s, {cost.cpu_ms:.3f} CPU-ms a clip, "
            f"driver {cost.driver_mb:,.0f} MB, largest worker {cost.worker_mb:,.0f} MB",
            flush=True,
        )
    first, last = costs[0], costs[-1]
    if len(costs) > 1:
        slope_ms = 1000 * (last.cpu_s - first.cpu_s) / (last.clips - first.clips)
        print(f"a further clip between these sizes: {slope_ms:.3f} CPU-ms")
    _add_rows(last)


def _add_rows(cost: Cost) -> None:
    name = f"build of {cost.clips:,} clips without decoding"
    add_row(
        "scale", f"{name}, CPU a clip", measured=f"{cost.cpu_ms:.2f} ms", bound="≤ 1 ms", met=cost.cpu_ms <= MAX_CPU_MS
    )
    for what, found, most in (("driver", cost.driver_mb, MAX_DRIVER_MB), ("worker", cost.worker_mb, MAX_WORKER_MB)):
        add_row(
            "scale",
            f"{name}, memory of a {what}",
            measured=f"{found:,.0f} MB",
            bound=f"≤ {most:,} MB",
            met=found <= most,
        )


def measure(folder: Path, *, clips: int) -> Cost:
    """Make the metadata, build in a process of its own, and watch its processes."""
    config = make_corpus(folder, clips=clips)
    command = [Path(sys.executable).with_name("myxtts-data"), "build", config, "--data", folder / "data"]
    environment = os.environ | {"PYTHONPATH": str(Path("tests/bench/stand_ins").absolute())}
    before_s, started_s, peaks = _cpu_s(), time.perf_counter(), dict[int, float]()
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            for pid in (process.pid, *_children(process.pid)):
                peaks[pid] = max(peaks.get(pid, 0.0), _peak_mb(pid))
            time.sleep(INTERVAL_S)
    if process.returncode:
        raise RuntimeError(f"the build ended with {process.returncode}")
    driver_mb = peaks.pop(process.pid)
    return Cost(
        clips, time.perf_counter() - started_s, _cpu_s() - before_s, driver_mb, max(peaks.values(), default=0.0)
    )


def make_corpus(folder: Path, *, clips: int) -> Path:
    """A table with a row for each clip; the path of the config that builds it."""
    folder.mkdir(parents=True)
    for number in range(100):
        (folder / f"{number}.wav").write_bytes(b"replaced")
    chance = random.Random(3)
    with (folder / "metadata.tsv").open("w", encoding="utf-8") as file:
        file.write("id\taudio\ttext\tspeaker\n")
        for number in range(clips):
            text = " ".join(chance.choices(WORDS, k=chance.randint(6, 18)))
            file.write(f"clip{number:09d}\t{number % 100}.wav\t{text}.\ts{number % 5_000}\n")
    columns = "columns: {id: id, audio: audio, text: text, speaker: speaker}"
    source = f"reader: table, root: {folder}, language: eng_Latn, file: metadata.tsv, {columns}"
    config = folder / "scale.yaml"
    config.write_text(
        f"sources: {{bench: {{{source}}}}}\ntokenizer: tests/corpora/tokenizer.json\nworkers: {WORKERS}\n"
        "checks: {characters_per_second_deviations: null, max_silence_fraction: null}\nmax_rejected_fraction: 0.5\n"
    )
    return config


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task")
    try:
        return [int(child) for task in tasks.iterdir() for child in (task / "children").read_text().split()]
    except OSError:
        return []


def _peak_mb(pid: int) -> float:
    """The peak of resident memory of a process."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1000
    except OSError:
        pass
    return 0.0


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
