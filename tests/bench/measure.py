"""Interleaved measurements: candidates run in turn, because the machine's speed drifts, and medians are reported."""

from __future__ import annotations

import os
import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

Work = TypeVar("Work")


class Measurement(NamedTuple):
    """One measurement: number of clips, wall time, CPU time."""

    clips: int
    seconds: float
    cpu_s: float

    @property
    def clips_per_s(self) -> float:
        return self.clips / self.seconds


def measure(work: Callable[[], int]) -> Measurement:
    """Run `work`, which returns a number of clips; CPU seconds include child processes that ended."""
    cpu_s, started_s = _cpu_s(), time.perf_counter()
    clips = work()
    return Measurement(clips, time.perf_counter() - started_s, _cpu_s() - cpu_s)


def interleaved(
    candidates: dict[str, Work], *, repeats: int, measure: Callable[[Work], Measurement] = measure
) -> dict[str, list[Measurement]]:
    """Measure each candidate once in each round, after a warm-up round."""
    for work in candidates.values():
        measure(work)
    rounds = [{name: measure(work) for name, work in candidates.items()} for _ in range(repeats)]
    return {name: [one[name] for one in rounds] for name in candidates}


def report(title: str, results: dict[str, list[Measurement]], *, floor: str) -> str:
    """A table with each candidate's median rate, CPU time, and the median of its ratio to the floor."""
    lines = [
        f"{title} ({os.cpu_count()} cores, {len(results[floor])} interleaved repeats, medians)",
        f"{'':44} {'clips/s':>9} {'min':>8} {'max':>8} {'CPU s/1000':>11} {'of floor':>9}",
    ]
    for name, measurements in results.items():
        rates = [one.clips_per_s for one in measurements]
        ratios = [ours / theirs.clips_per_s for ours, theirs in zip(rates, results[floor], strict=True)]
        cpu_s = statistics.median(1000 * one.cpu_s / one.clips for one in measurements)
        lines.append(
            f"{name:44} {statistics.median(rates):9.0f} {min(rates):8.0f} {max(rates):8.0f} {cpu_s:11.3f} "
            f"{statistics.median(ratios):9.2f}"
        )
    return "\n".join(lines)


def rates(title: str, results: dict[str, list[Measurement]], *, floor: str) -> str:
    """The same table for work that is counted in bytes, by CPU time."""
    lines = [
        f"{title} ({len(results[floor])} interleaved repeats, medians)",
        f"{'':46} {'GB/s a core':>11} {'ns/byte':>8} {'of floor':>9}",
    ]
    for name, measurements in results.items():
        ours = [one.cpu_s / one.clips for one in measurements]
        ratios = [other.cpu_s / other.clips / one for one, other in zip(ours, results[floor], strict=True)]
        seconds = statistics.median(ours)
        lines.append(f"{name:46} {1e-9 / seconds:11.2f} {1e9 * seconds:8.3f} {statistics.median(ratios):9.2f}")
    return "\n".join(lines)


def descendants(pid: int) -> list[int]:
    """A process and all its descendants that are alive."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:  # it ended meanwhile
        return [pid]
    return [pid, *(one for child in children for one in descendants(child))]


def tree_cpu_s(pid: int) -> float:
    """CPU seconds of a process, of its descendants and of those that ended."""
    return sum(map(_ticks, descendants(pid))) / os.sysconf("SC_CLK_TCK")


def _ticks(pid: int) -> int:
    """User and system time, its own and that of its children that ended: columns 14 to 17 of proc(5)'s stat."""
    try:
        columns = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(map(int, columns[11:15]))


def _cpu_s() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
