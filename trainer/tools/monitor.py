"""`myxtts-train monitor`: a running training from outside, by its files, its process, and the GPUs of this machine.

It loads no model and touches no GPU: it reads RUN/metrics.jsonl and RUN/.lock, psutil's counters of the process that
holds the lock, and NVML.
"""

from __future__ import annotations

import contextlib
import datetime
import socket
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pynvml
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from shared.lock_holder import LockFile, LockHolder, read_holder
from trainer.monitoring.eta import Eta, EtaEstimator
from trainer.monitoring.host_stats import HostMeter, HostStats
from trainer.monitoring.run_files import Row, RunFiles, is_number, read_run_files
from trainer.monitoring.terminal import LABELS_WIDTH, train_groups, validation_groups, wrap_words

LATE = 5.0  # a silence so many times as long as usual is worth a warning
MIN_LATE_S = 120.0
FIRST_LOOK_S = 0.5  # of which the first statistics of the host are


class GpuLoad(NamedTuple):
    """A GPU of this machine, whichever processes use it."""

    number: int
    name: str
    busy_percent: int
    used_gib: float
    total_gib: float
    power_w: float | None

    def __str__(self) -> str:
        power = "" if self.power_w is None else f", {self.power_w:.0f} W"
        memory = f"{self.used_gib:.1f} of {self.total_gib:.1f} GiB"
        return f"{self.number} ({self.name}): {self.busy_percent} % busy, {memory}{power}"


class Monitor:
    """Looks at a run again and again."""

    def __init__(self, run: Path, *, nvml: Any = pynvml):
        """
        Raises:
            UserError: the folder holds no run.
        """
        read_run_files(run)
        self._run, self._nvml = run, nvml
        self._meter: HostMeter | None = None
        self._pid: int | None = None

    def look(self, *, width: int) -> Group:
        """What there is to say now, for a terminal so many characters wide.

        Raises:
            UserError: the folder no longer holds a run.
        """
        files, holder = read_run_files(self._run), self._holder()
        host = self._host(holder)
        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim", no_wrap=True)
        table.add_column()
        for name, words in self._groups(files, host=host).items():
            if words:
                table.add_row(name, Text(wrap_words(words, width=width - LABELS_WIDTH)))
        lines = [Text(_headline(files)), Text(_state(holder, host=host), style="dim")]
        warning = late_warning(files.rows, silent_s=time.time() - _written_s(self._run)) if host else None
        return Group(*lines, table, *([Text(warning, style="bold red")] if warning else []))

    def _holder(self) -> LockHolder | None:
        """The training that the run's lock names, if there is one."""
        with contextlib.suppress(OSError), (self._run / ".lock").open("rb") as file:
            return read_holder(LockFile(file))
        return None

    def _host(self, holder: LockHolder | None) -> HostStats | None:
        """The host since the last look; None where the training's process is gone or on another machine."""
        if holder is None or holder.host != socket.gethostname():
            return None
        try:
            if self._meter is None or self._pid != holder.pid:
                self._pid, self._meter = holder.pid, HostMeter(process=psutil.Process(holder.pid))
                time.sleep(FIRST_LOOK_S)
            return self._meter.read()
        except psutil.Error:
            return None

    def _groups(self, files: RunFiles, *, host: HostStats | None) -> dict[str, list[str]]:
        train, validation = files.last("train"), files.last("validation")
        groups = train_groups(_numbers(train)) if is_number(train.get("loss")) else {}
        if is_number(validation.get("loss")):
            groups |= validation_groups(_numbers(validation), step=validation["step"])
        groups["checkpoint"] = _checkpoint(self._run)
        groups["host"] = [] if host is None else _host_words(host, pid=self._pid)
        groups["GPU"] = [str(one) for one in self._gpus()]
        return groups

    def _gpus(self) -> Iterator[GpuLoad]:
        """The GPUs of this machine; none without NVIDIA's driver."""
        with contextlib.suppress(self._nvml.NVMLError):
            self._nvml.nvmlInit()
            for number in range(self._nvml.nvmlDeviceGetCount()):
                yield self._gpu(number, handle=self._nvml.nvmlDeviceGetHandleByIndex(number))

    def _gpu(self, number: int, *, handle: Any) -> GpuLoad:
        memory, power_w = self._nvml.nvmlDeviceGetMemoryInfo(handle), None
        with contextlib.suppress(self._nvml.NVMLError):
            power_w = self._nvml.nvmlDeviceGetPowerUsage(handle) / 1000
        return GpuLoad(
            number,
            str(self._nvml.nvmlDeviceGetName(handle)),
            self._nvml.nvmlDeviceGetUtilizationRates(handle).gpu,
            memory.used / 2**30,
            memory.total / 2**30,
            power_w,
        )


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
    usual_s = [steps / per_second for steps, per_second in _speeds(rows)]
    if not usual_s:
        return None
    longest_s = max(usual_s) + max(
        (row["validation_s"] for row in rows if is_number(row.get("validation_s"))), default=0
    )
    if silent_s <= max(MIN_LATE_S, LATE * longest_s):
        return None
    return f"no step was logged for {_ago(silent_s)}, {silent_s / longest_s:.0f} times as long as usual"


def _speeds(rows: Sequence[Row]) -> Iterator[tuple[int, float]]:
    """The steps of each row of training, and their number in a second."""
    step = 0
    for row in rows:
        if row.get("kind") == "train":
            if is_number(row.get("steps_per_second")) and row["steps_per_second"] > 0:
                yield max(1, row["step"] - step), row["steps_per_second"]
            step = row["step"]


def _headline(files: RunFiles) -> str:
    """Step, all steps, time left."""
    steps, step = files.settings.get("steps"), files.last("train").get("step")
    if step is None or not isinstance(steps, int):
        return f"{files.root}: no step was logged yet"
    done, left = (
        f"{files.root}: step {step:,} of {steps:,}, {step / steps:.0%}",
        _time_left(files, steps=steps, step=step),
    )
    return f"{done}, {left}" if left and step < steps else done


def _time_left(files: RunFiles, *, steps: int, step: int) -> Eta | None:
    eta = EtaEstimator(steps=steps, validate_every=files.settings.get("validate_every") or steps)
    for count, per_second in _speeds(files.rows):
        eta.add_steps(count, per_second=per_second)
    for row in files.rows:
        if is_number(row.get("validation_s")):
            eta.add_validation(row["validation_s"])
    return eta.estimate(step)


def _state(holder: LockHolder | None, *, host: HostStats | None) -> str:
    """Whether somebody trains it, and who."""
    if holder is None:
        return "no training is running"
    if host is not None:
        return f"training: {holder}"
    if holder.host == socket.gethostname():
        return f"no training is running: process {holder.pid} ended without a word"
    return f"training on another machine: {holder}"


def _host_words(host: HostStats, *, pid: int | None) -> list[str]:
    others = [] if host.other_cores is None else [f"{host.other_cores:.1f} by other programs"]
    return [
        f"process {pid} keeps {host.own_cores:.1f} of {psutil.cpu_count()} cores busy",
        *others,
        f"{host.memory_free_mib / 1024:.1f} GiB free",
    ]


def _checkpoint(run: Path) -> list[str]:
    """The newest checkpoint and its age."""
    newest = max((run / "checkpoints").glob("step-*.safetensors"), default=None)
    if newest is None:
        return []
    return [f"step {int(newest.stem.removeprefix('step-')):,}, {_ago(time.time() - newest.stat().st_mtime)} ago"]


def _written_s(run: Path) -> float:
    """When the last row was written."""
    return (run / "metrics.jsonl").stat().st_mtime if (run / "metrics.jsonl").exists() else time.time()


def _numbers(row: Row) -> dict[str, float]:
    """The finite values of a row."""
    return {name: float(value) for name, value in row.items() if is_number(value)}


def _ago(seconds: float) -> str:
    return str(datetime.timedelta(seconds=round(seconds)))
