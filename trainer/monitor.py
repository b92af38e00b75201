"""What a run tells: raw figures to `metrics.jsonl` and TensorBoard, progress with time left to the terminal."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Stopwatch:
    """Where the time of the steps since the last reading went."""

    def __init__(self) -> None:
        self._frames = tf.constant(0)
        self._waited_s = 0.0
        self._since_s = time.monotonic()

    def batches(self, stream: Iterator[Any]) -> Iterator[Any]:
        """The stream, with the time that each batch was waited for."""
        while True:
            asked_s = time.monotonic()
            batch = next(stream, None)
            self._waited_s += time.monotonic() - asked_s
            if batch is None:
                return
            yield batch

    def count(self, frames: tf.Tensor) -> None:
        """Add a step's valid frames [] where they are: to read them at each step would wait for the device."""
        self._frames = self._frames + frames

    def read(self) -> dict[str, float]:
        """Valid frames a second and the share of the time that went into waiting for data; then starts anew."""
        frames = float(self._frames)
        elapsed_s = max(time.monotonic() - self._since_s, 1e-9)
        reading = {"frames_per_second": frames / elapsed_s, "data_wait": self._waited_s / elapsed_s}
        self._frames, self._waited_s, self._since_s = tf.constant(0), 0.0, time.monotonic()
        return reading


class Monitor:
    """The outputs of one run; rows of an earlier run beyond its checkpoint, which is `step`, are dropped."""

    def __init__(self, run: Path, *, step: int, steps: int):
        self._path = run / "metrics.jsonl"
        _drop_after(self._path, step=step)
        self._file = self._path.open("a", encoding="utf-8")
        self._writer = tf.summary.create_file_writer(str(run / "tensorboard"))
        self._console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("step"),
            MofNCompleteColumn(),
            BarColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(elapsed_when_finished=False),
            TextColumn("{task.description}"),
            console=self._console,
        )
        self._task = self._bar.add_task("", total=steps, completed=step)

    def __enter__(self) -> Monitor:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
        self._file.close()
        self._writer.close()

    def say(self, message: str) -> None:
        """A line above the progress bar."""
        self._console.print(message, highlight=False, soft_wrap=True)

    def advance(self, step: int) -> None:
        self._bar.update(self._task, completed=step)

    def log(self, kind: str, *, step: int, values: dict[str, float]) -> None:
        """One row of raw figures, `kind` being train or validation."""
        self._file.write(json.dumps({"step": step, "kind": kind, **values}) + "\n")
        self._file.flush()
        with self._writer.as_default(step=step):
            for name, value in values.items():
                tf.summary.scalar(f"{kind}/{name}", value)
        if kind == "train":
            rate = f"{values['frames_per_second']:,.0f} frames/s, waiting for data {values['data_wait']:.1%}"
            self._bar.update(self._task, description=f"loss {values['loss']:.3f}, mel {values['mel']:.3f}, {rate}")

    def picture(self, name: str, *, step: int, image: np.ndarray) -> None:
        """A picture [height, width] with values in [0, 1]."""
        with self._writer.as_default(step=step):
            tf.summary.image(name, image[None, :, :, None])


def _drop_after(path: Path, *, step: int) -> None:
    """Keep whole rows up to `step`."""
    if not path.exists():
        return
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if line.endswith("\n") and json.loads(line)["step"] <= step]
    path.write_text("".join(kept), encoding="utf-8")
