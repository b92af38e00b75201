"""Progress of a run on stderr: a live view in a terminal, else plain lines."""

from __future__ import annotations

import re
import sys
import textwrap
import time
from collections.abc import Callable, Iterable
from datetime import timedelta

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from trainer.monitoring.eta import EtaEstimator

LOSS_TERMS = ("mel", "kl", "flux", "stop", "guided_attention")  # terms of the loss
VOCODER_LOSS_TERMS = ("stft", "periodicity", "adversarial", "feature")  # terms of a vocoder's loss, besides "mel"
LINE_EVERY_S = 10.0  # without a terminal
LABELS_WIDTH = len("validation") + 2

Values = dict[str, float]


class Terminal:
    """Shows step, time left and the last metrics while it is entered."""

    def __init__(
        self,
        *,
        step: int,
        steps: int,
        validate_every: int,
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
    ):
        # stderr is a pipe while TensorFlow's notes are hidden
        self._console = console or Console(stderr=True, force_terminal=sys.stderr.isatty() or None)
        self._clock, self._line_s = clock, -LINE_EVERY_S
        self._progress = Progress(
            TextColumn("step {task.completed:,} of {task.total:,}"),
            BarColumn(bar_width=None),
            TextColumn("{task.description}"),
            console=self._console,
            expand=True,
            get_time=clock,
        )
        self._eta, self._noted = EtaEstimator(steps=steps, validate_every=validate_every), step
        self._task = self._progress.add_task("", total=steps, completed=step)
        self._status: str | None = None
        self._groups: dict[str, list[str]] = {}
        self._live = Live(get_renderable=self._render, console=self._console, refresh_per_second=2)

    def __enter__(self) -> Terminal:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def log(self, message: str) -> None:
        """Print a line above the live view."""
        self._console.print(message, highlight=False, markup=False, soft_wrap=True)

    def log_status(self, message: str) -> None:
        """Log a line, and show it in place of the time left until the next step is done."""
        self._status = message
        self.log(message)

    def advance(self, step: int) -> None:
        """Show that a step is done."""
        self._status = None
        self._progress.update(self._task, completed=step)

    def show(self, kind: str, *, step: int, values: Values) -> None:
        """Show metrics of training or validation."""
        self._time(values, step=step)
        self._groups |= validation_groups(values, step=step) if kind == "validation" else train_groups(values)
        now_s = self._clock()
        if not self._console.is_terminal and (kind == "validation" or now_s - self._line_s >= LINE_EVERY_S):
            self._line_s = now_s
            self.log(self._line(kind, step=step))

    def _time(self, values: Values, *, step: int) -> None:
        if "steps_per_second" in values:
            self._eta.add_steps(max(1, step - self._noted), per_second=values["steps_per_second"])
            self._noted = step
        if "validation_s" in values:
            self._eta.add_validation(values["validation_s"])

    def _line(self, kind: str, *, step: int) -> str:
        names = ("validation", "synthesis") if kind == "validation" else ("loss", "rate", "speed")
        text = "; ".join(", ".join(self._groups[name]) for name in names if self._groups.get(name))
        left = self._time_left()
        begin = "validation" if kind == "validation" else f"step {step:,} of {self._total:,}{left and f', {left}'}"
        return f"{begin}: {text}"

    @property
    def _total(self) -> int:
        return int(self._progress.tasks[0].total or 0)

    def _time_left(self) -> str:
        """The estimate as text; empty while no step was timed."""
        return str(self._eta.estimate(int(self._progress.tasks[0].completed)) or "")

    def _render(self) -> Group:
        task, left = self._progress.tasks[0], self._time_left()
        elapsed = f"{timedelta(seconds=round(task.elapsed or 0))} elapsed"
        progress = f"{task.percentage:.1f} %, {elapsed}, {left}" if left else elapsed
        self._progress.update(self._task, description=f"{self._status}, {elapsed}" if self._status else progress)
        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim", no_wrap=True)
        table.add_column()
        for name, words in self._groups.items():
            if words:
                table.add_row(name, Text(wrap_words(words, width=self._console.width - LABELS_WIDTH)))
        return Group(self._progress, table)


def wrap_words(words: list[str], *, width: int) -> str:
    """Lines that break between metrics only."""
    whole = "  ".join(word.replace(" ", "\N{NO-BREAK SPACE}") for word in words)
    return textwrap.fill(whole, max(width, 1), break_on_hyphens=False).replace("\N{NO-BREAK SPACE}", " ")


def train_groups(values: Values) -> dict[str, list[str]]:
    """Training metrics as text, by group; there are no rates if every step compiled a program."""
    speed = []
    if "stall" in values:
        speed = [
            f"{values['frames_per_second']:,.0f} frames/s",
            f"{values['clips_per_second']:,.1f} clips/s",
            f"stall {values['stall']:.1%}",
        ]
    if "memory_mib" in values:
        speed.append(f"memory {values['memory_mib']:,.0f} MiB")
    return {
        "loss": _losses(values),
        "rate": _present(values, learning_rate="learning rate {:.2e}", gradient_norm="gradient norm {:.3g}"),
        "speed": speed,
        "host": _host(values),
        "GPU": [word for number in gpu_indices(values) for word in _gpu(values, f"gpu{number}")],
    }


def validation_groups(values: Values, *, step: int) -> dict[str, list[str]]:
    """Validation metrics as text, by group; `synthesis` only if clips were synthesized."""
    of_vocoder = _present(values, mel_distance_db="mel {:.2f} dB off")
    groups = {"validation": [f"step {step:,}", *_losses(values), *of_vocoder]}
    synthesis = _present(
        values,
        free_mel_distance_db="mel {:.1f} dB off",
        free_length_error="length {:.0%} off",
        free_moves="attention moves on {:.0%}",
        free_ended="ended {:.0%}",
    )
    return {**groups, "synthesis": [f"step {step:,}", *synthesis]} if synthesis else groups


def _losses(values: Values) -> list[str]:
    terms = (name for name in (*LOSS_TERMS, *VOCODER_LOSS_TERMS, "discriminators") if name in values)
    parts = [f"{name.replace('_', ' ')} {values[name]:.3f}" for name in terms]
    return [f"loss {values['loss']:.4f}", *parts]


def gpu_indices(names: Iterable[str]) -> list[int]:
    """The sorted indices of the GPUs in metric names such as `gpu0_power_w`."""
    found = (re.match(r"gpu(\d+)_", name) for name in names)
    return sorted({int(match[1]) for match in found if match})


def _gpu(values: Values, name: str) -> list[str]:
    keys = {
        f"{name}_utilisation": "{:.0f} % busy",
        f"{name}_memory_peak_mib": "{:,.0f} MiB",
        f"{name}_power_w": "{:.0f} W",
        f"{name}_clock_mhz": "{:.0f} MHz",
        f"{name}_pcie_received_mib_s": "{:.0f} MiB/s in",
        f"{name}_pcie_sent_mib_s": "{:.0f} MiB/s out",
    }
    words = _present(values, **keys)
    return [f"{name.removeprefix('gpu')}: {words[0]}", *words[1:]] if words else []


def _host(values: Values) -> list[str]:
    return _present(
        values,
        host_own_cores="{:.1f} cores busy",
        host_other_cores="{:.1f} by other programs",
        host_memory_free_mib="{:,.0f} MiB free",
    )


def _present(values: Values, **forms: str) -> list[str]:
    return [form.format(values[name]) for name, form in forms.items() if name in values]
