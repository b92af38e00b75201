"""Logger of a run: raw metrics to `metrics.jsonl` and TensorBoard, progress to the terminal."""

from __future__ import annotations

import contextlib
import io
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf

from shared.errors import UserError
from shared.files import write_bytes
from shared.records import PCM_FULL_SCALE
from trainer.monitoring.compilation import CompilationLogger
from trainer.monitoring.plots import alignment_image, mel_comparison_image
from trainer.monitoring.samples import Samples
from trainer.monitoring.terminal import Terminal


class RunLogger:
    """Writes the logs of one run; rows after `step`, the step of the checkpoint that it resumes from, are dropped.

    Every method that writes raises UserError if the disk is full or fails. TensorFlow drops events silently if the disk
    is full; writing the next row then fails and reports it.
    """

    def __init__(
        self, run: Path, *, step: int, steps: int, validate_every: int, owes_validation: bool = False, xla: bool = True
    ):
        self._path, self._events = run / "metrics.jsonl", run / "tensorboard"
        with _translate_disk_errors(self._path):
            damaged = _drop_after(self._path, step=step, owes_validation=owes_validation)
            self._file = _open_rows(self._path)
        with _translate_disk_errors(self._events):
            self._writer = tf.summary.create_file_writer(str(self._events))
            _purge_after(self._writer, step=step)
        self._terminal = Terminal(step=step, steps=steps, validate_every=validate_every)
        self.log_compilation = CompilationLogger(self._terminal.log_status, xla=xla).log_once
        if damaged:
            self.log(f"{self._path}: damaged rows dropped: {damaged}")

    def __enter__(self) -> RunLogger:
        self._terminal.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._terminal.__exit__()
        self._file.close()
        self._writer.close()

    def log(self, message: str) -> None:
        """Print a line in the terminal."""
        self._terminal.log(message)

    def advance(self, step: int) -> None:
        """Show that a step is done."""
        self._terminal.advance(step)

    def rewind(self, step: int, *, owes_validation: bool) -> None:
        """Drop the rows of all later steps, and of this step's validation if it will be repeated."""
        self._file.close()
        with _translate_disk_errors(self._path):
            _drop_after(self._path, step=step, owes_validation=owes_validation)
            self._file = _open_rows(self._path)
        with _translate_disk_errors(self._events):
            _purge_after(self._writer, step=step)
        self.advance(step)

    def log_metrics(self, kind: str, *, step: int, values: dict[str, float]) -> None:
        """Log raw metrics; `kind` is train or validation. A value that is not finite is null in JSON."""
        with _translate_disk_errors(self._path):
            _write_row(self._file, {"step": step, "kind": kind, **with_null(values)})
        with _translate_disk_errors(self._events), self._writer.as_default(step=step):
            for name, value in values.items():
                tf.summary.scalar(f"{kind}/{name}", value)
        self._terminal.show(kind, step=step, values=values)

    def log_image(self, name: str, *, step: int, image: np.ndarray) -> None:
        """Log an image [height, width] with values in [0, 1]."""
        with _translate_disk_errors(self._events), self._writer.as_default(step=step):
            tf.summary.image(name, image[None, :, :, None])

    def log_samples(self, samples: Samples) -> None:
        """Log synthesized clips as images and audio."""
        step = samples.step
        for number, one in enumerate(samples.all):
            self.log_image(
                f"spoken/{number}/target_over_spoken", step=step, image=mel_comparison_image(one.target, one.spoken)
            )
            self.log_image(f"spoken/{number}/alignment", step=step, image=alignment_image(one.alignment))
            self.log_audio(f"spoken/{number}/spoken", step=step, samples=one.spoken_sound, rate_hz=samples.rate_hz)
            self.log_audio(f"spoken/{number}/target", step=step, samples=one.target_sound, rate_hz=samples.rate_hz)

    def log_audio(self, name: str, *, step: int, samples: np.ndarray, rate_hz: int) -> None:
        """Log a sound [S] int16."""
        with _translate_disk_errors(self._events), self._writer.as_default(step=step):
            tf.summary.audio(name, samples[None, :, None] / np.float32(PCM_FULL_SCALE), rate_hz)


@contextlib.contextmanager
def _translate_disk_errors(path: Path) -> Iterator[None]:
    """Raises UserError if Python or TensorFlow cannot write to the disk."""
    try:
        yield
    except (OSError, tf.errors.OpError) as error:
        reason = error.strerror if isinstance(error, OSError) else error.message.partition("\n")[0]
        raise UserError(
            f"{path}: cannot be written ({reason}); checkpoints are intact; make room and run the same command again"
        ) from error


def _open_rows(path: Path) -> io.FileIO:
    """Open a file for appending without a buffer, so that closing it has nothing left to write."""
    return path.open("ab", buffering=0)


def _write_row(file: io.FileIO, row: dict[str, object]) -> None:
    data = f"{json.dumps(row)}\n".encode()
    while data:  # a disk that is nearly full takes a part of it
        data = data[file.write(data) :]


def _drop_after(path: Path, *, step: int, owes_validation: bool) -> int:
    """Drop rows after `step`, and its validation if that is pending; returns the number of damaged rows dropped."""
    if not path.exists():
        return 0
    lines = path.read_bytes().splitlines(keepends=True)
    moments = [_moment(line) for line in lines]
    end = (step, not owes_validation)
    kept = (line for line, found in zip(lines, moments, strict=True) if found is not None and found <= end)
    write_bytes(path, b"".join(kept))
    return moments.count(None)


def _moment(line: bytes) -> tuple[int, bool] | None:
    """The step of a row, and whether it is of the validation after it; None if the row is damaged."""
    try:
        row = json.loads(line) if line.endswith(b"\n") else {}
        step, kind = row["step"], row["kind"]
    except (ValueError, KeyError, TypeError):
        return None
    return (step, kind == "validation") if isinstance(step, int) else None


def _purge_after(writer: tf.summary.SummaryWriter, *, step: int) -> None:
    """Make TensorBoard drop the events of later steps in earlier files, by an event that starts a session.

    Its reader in Python drops them at once. Its data server ignores the start of a session: it drops the later steps of
    a tag when that tag gets an event of an earlier step.
    """
    start = tf.compat.v1.SessionLog(status=tf.compat.v1.SessionLog.START)
    event = tf.compat.v1.Event(wall_time=time.time(), step=step + 1, session_log=start)
    tf.raw_ops.ImportEvent(writer=writer._resource, event=event.SerializeToString())


def with_null(values: dict[str, float]) -> dict[str, float | None]:
    """Metrics for JSON: a value that is not finite is None."""
    return {name: value if math.isfinite(value) else None for name, value in values.items()}
