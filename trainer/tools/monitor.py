"""`myxtts-train monitor`: a running training from outside, by its files, its process, and the GPUs of this machine.

It loads no model and uses no GPU.
"""

from __future__ import annotations

import contextlib
import datetime
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pynvml
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from trainer.checkpoint.checkpoint_files import list_checkpoints
from trainer.monitoring.eta import Eta, EtaEstimator
from trainer.monitoring.run_files import Row, RunFiles, is_number, read_run_files
from trainer.monitoring.terminal import LABELS_WIDTH, train_groups, validation_groups, wrap_words
from trainer.monitoring.watched_process import GpuDriver, WatchedProcess

LATE = 5.0  # a silence so many times as long as usual is worth a warning
MIN_LATE_S = 300.0  # compilation of a further batch shape takes minutes
RECENT_ROWS = 200  # speed, and how long a silence usually is, come from the last rows


class Monitor:
    """Looks at a run again and again."""

    def __init__(self, run: Path, *, nvml: Any = pynvml):
        """
        Raises:
            UserError: the folder holds no run.
        """
        self._run, self._files = run, read_run_files(run)
        self._written_s: float | None = None
        self._process, self._driver = WatchedProcess(run), GpuDriver(nvml)

    def look(self, *, width: int) -> Group:
        """What there is to say now, for a terminal so many characters wide.

        Raises:
            UserError: the folder no longer holds a run.
        """
        self._read()
        self._process.look()
        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim", no_wrap=True)
        table.add_column()
        for name, words in self._groups().items():
            if words:
                table.add_row(name, Text(wrap_words(words, width=width - LABELS_WIDTH)))
        warnings = (Text(line, style="bold red") for line in self._warnings())
        return Group(Text(_headline(self._files)), Text(_state(self._process), style="dim"), table, *warnings)

    def _read(self) -> None:
        """Read the files again, if rows came."""
        written_s = _changed_s(self._run / "metrics.jsonl")
        if written_s != self._written_s:
            self._files, self._written_s = read_run_files(self._run), written_s

    def _groups(self) -> dict[str, list[str]]:
        train, validation = self._files.last("train"), self._files.last("validation")
        groups = train_groups(_numbers(train)) if is_number(train.get("loss")) else {}
        if is_number(validation.get("loss")):
            groups |= validation_groups(_numbers(validation), step=validation["step"])
        groups["checkpoint"] = _checkpoint(self._run)
        if self._process.host is not None:  # else the figures are those of the log
            groups["host"] = _host_words(self._process)
            groups["GPU"] = [str(one) for one in self._driver.loads()] or groups.get("GPU", [])
        return groups

    def _warnings(self) -> Iterator[str]:
        train = self._files.last("train")
        if train and not is_number(train.get("loss")):
            yield f"step {train['step']:,}: the loss is not finite"
        holder, written_s = self._process.holder, self._written_s
        if self._process.host is None or holder is None or written_s is None:
            return
        if written_s > datetime.datetime.fromisoformat(holder.since).timestamp():  # a row of this session
            late = late_warning(self._files.rows, silent_s=time.time() - written_s)
            if late:
                yield late


def watch(monitor: Monitor, *, every_s: float, once: bool) -> None:
    """Show what the monitor sees, again and again until Ctrl-C, or once."""
    console = Console(highlight=False)
    if once:
        console.print(monitor.look(width=console.width))
        return
    with contextlib.suppress(KeyboardInterrupt), Live(console=console, auto_refresh=False) as live:
        while True:
            live.update(monitor.look(width=console.width), refresh=True)
            time.sleep(every_s)


def late_warning(rows: Sequence[Row], *, silent_s: float) -> str | None:
    """A line if no step was logged for much longer than usual; None where that is not known.

    Args:
        silent_s: since the last row was written.
    """
    recent = rows[-RECENT_ROWS:]
    usual_s = [steps / per_second for steps, per_second in _speeds(recent)]
    if not usual_s:
        return None
    validations_s = (row["validation_s"] for row in recent if is_number(row.get("validation_s")))
    longest_s = max(usual_s) + max(validations_s, default=0.0)
    if silent_s <= max(MIN_LATE_S, LATE * longest_s):
        return None
    return f"no step was logged for {_ago(silent_s)}, {silent_s / longest_s:.0f} times as long as usual"


def _speeds(rows: Sequence[Row]) -> Iterator[tuple[int, float]]:
    """The steps of each row of training, since the row before it, and their number in a second."""
    before: int | None = None
    for row in rows:
        if row.get("kind") == "train":
            if is_number(row.get("steps_per_second")) and row["steps_per_second"] > 0:
                yield (1 if before is None else max(1, row["step"] - before)), row["steps_per_second"]
            before = row["step"]


def _headline(files: RunFiles) -> str:
    """Step, all steps, time left."""
    steps, step = files.settings.get("steps"), files.last("train").get("step")
    if step is None:
        return f"{files.root}: no step was logged yet"
    if not isinstance(steps, int):
        return f"{files.root}: step {step:,}"
    left = _time_left(files, steps=steps, step=step)
    done = f"{files.root}: step {step:,} of {steps:,}, {step / steps:.0%}"
    return f"{done}, {left}" if left and step < steps else done


def _time_left(files: RunFiles, *, steps: int, step: int) -> Eta | None:
    eta = EtaEstimator(steps=steps, validate_every=files.settings.get("validate_every") or steps)
    for count, per_second in _speeds(files.rows[-RECENT_ROWS:]):
        eta.add_steps(count, per_second=per_second)
    for row in files.rows:
        if is_number(row.get("validation_s")):
            eta.add_validation(row["validation_s"])
    return eta.estimate(step)


def _state(process: WatchedProcess) -> str:
    """Whether somebody trains it, and who."""
    holder = process.holder
    if holder is None:
        return "no training is running"
    if process.host is not None:
        return f"training: {holder}"
    if process.is_elsewhere:
        return f"training on another machine: {holder}"
    return f"no training is running: process {holder.pid} is gone, and left its lock"


def _host_words(process: WatchedProcess) -> list[str]:
    host, holder = process.host, process.holder
    assert host is not None
    assert holder is not None
    others = [] if host.other_cores is None else [f"{host.other_cores:.1f} by other programs"]
    return [
        f"process {holder.pid} keeps {host.own_cores:.1f} of {psutil.cpu_count()} cores busy",
        *others,
        f"{host.memory_free_mib / 1024:.1f} GiB free",
    ]


def _checkpoint(run: Path) -> list[str]:
    """The newest checkpoint and its age."""
    with contextlib.suppress(OSError):  # a folder that this user may not read, or a checkpoint that was just removed
        if found := list_checkpoints(run):
            return [f"step {found[-1].step:,}, {_ago(time.time() - found[-1].path.stat().st_mtime)} ago"]
    return []


def _changed_s(path: Path) -> float | None:
    """When a file was last written; None if there is none."""
    with contextlib.suppress(OSError):
        return path.stat().st_mtime
    return None


def _numbers(row: Row) -> dict[str, float]:
    """The finite values of a row."""
    return {name: float(value) for name, value in row.items() if is_number(value)}


def _ago(seconds: float) -> str:
    return str(datetime.timedelta(seconds=round(seconds)))
