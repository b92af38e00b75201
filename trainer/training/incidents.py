"""What went wrong in a run and was got over: a row each in `RUN/incidents.jsonl`.

Steps whose loss or gradient was no number change no weight; which they were is looked up every so often, from figures
that have stayed on the device, so that no step is waited for.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from shared.errors import UserError
from shared.files import write_bytes

MAX_UNSEEN = 100  # steps whose figures are held


class IncidentLog:
    """The file; what a run meets again after it went back to a checkpoint is one row still."""

    def __init__(self, run: Path):
        self._path = run / "incidents.jsonl"
        self._rows = self._whole_rows()

    def add(self, kind: str, *, step: int, **facts: Any) -> None:
        """A row of a kind, such as "skipped" or "out of memory".

        Raises:
            UserError: the disk is full or fails.
        """
        row = json.dumps({"step": step, "kind": kind, **facts})
        if row in self._rows:
            return
        self._rows.append(row)
        try:
            write_bytes(self._path, "".join(f"{one}\n" for one in self._rows).encode(errors="surrogateescape"))
        except OSError as error:
            raise UserError(
                f"{self._path}: cannot be written ({error.strerror}); make room and run the same command again"
            ) from error

    def _whole_rows(self) -> list[str]:
        """The rows so far; bytes that are no text stay what they are."""
        try:
            return self._path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UserError(f"{self._path}: cannot be read ({error.strerror})") from error


class SkippedStep(NamedTuple):
    """A step that changed no weight."""

    step: int
    loss: float
    gradient_norm: float
    rows: np.ndarray  # [B] of its batch


class SkippedStepTracker:
    """Finds them."""

    def __init__(self, consecutive: int):
        """`in_row` of them came last before this session."""
        self.consecutive = consecutive
        # step, its figures, rows of each device
        self._unseen: list[tuple[int, list[tf.Tensor], Sequence[tf.Tensor]]] = []

    @property
    def is_full(self) -> bool:
        """Whether it is time to look."""
        return len(self._unseen) >= MAX_UNSEEN

    def record(self, step: int, values: dict[str, tf.Tensor], *, rows: Sequence[tf.Tensor]) -> None:
        """A step that was handed over, and the rows of its batch, [B] for each device."""
        self._unseen.append((step, [values[name] for name in ("skipped", "loss", "gradient_norm")], rows))

    def collect(self) -> list[SkippedStep]:
        """Those since the last look; waits for the device."""
        unseen, self._unseen = self._unseen, []
        if not unseen:
            return []
        figures = tf.stack([values for _, values, _ in unseen]).numpy()
        is_good = figures[:, 0] == 0  # also where a loss scale was too large: that mends itself
        last_good = int(np.flatnonzero(is_good)[-1]) if is_good.any() else -1
        since = len(is_good) - 1 - last_good
        self.consecutive = since if is_good.any() else self.consecutive + since
        return [
            SkippedStep(step, float(loss), float(norm), np.concatenate([part.numpy() for part in rows]))
            for (step, _, rows), (was_skipped, loss, norm) in zip(unseen, figures, strict=True)
            if was_skipped
        ]
