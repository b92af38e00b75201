"""Find the steps whose update was skipped because the loss or the gradient was not finite.

Such steps change no weight. Their metrics stay on the device and are read only every so often, so that no step waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

MAX_UNREAD = 100  # steps whose metrics are held on the device


class SkippedStep(NamedTuple):
    """A step that changed no weight."""

    step: int
    loss: float
    gradient_norm: float
    rows: np.ndarray  # [B] manifest rows of its batch


class SkippedStepTracker:
    """Holds the metrics of recent steps, and finds the skipped ones among them."""

    def __init__(self, consecutive: int):
        """
        Args:
            consecutive: number of skipped steps directly before this session.
        """
        self.consecutive = consecutive
        # step, its metrics, rows of each device
        self._unread: list[tuple[int, list[tf.Tensor], Sequence[tf.Tensor]]] = []

    @property
    def is_full(self) -> bool:
        """True when `collect` is due."""
        return len(self._unread) >= MAX_UNREAD

    def record(self, step: int, values: dict[str, tf.Tensor], *, rows: Sequence[tf.Tensor]) -> None:
        """Add a step that was launched, and the manifest rows of its batch, [B] for each device."""
        self._unread.append((step, [values[name] for name in ("skipped", "loss", "gradient_norm")], rows))

    def collect(self) -> list[SkippedStep]:
        """Return the skipped steps since the last call; waits for the device."""
        unread, self._unread = self._unread, []
        if not unread:
            return []
        metrics = tf.stack([values for _, values, _ in unread]).numpy()
        is_good = metrics[:, 0] == 0  # includes float16 overflows, after which the loss scale lowers itself
        last_good = int(np.flatnonzero(is_good)[-1]) if is_good.any() else -1
        since = len(is_good) - 1 - last_good
        self.consecutive = since if is_good.any() else self.consecutive + since
        return [
            SkippedStep(step, float(loss), float(norm), np.concatenate([part.numpy() for part in rows]))
            for (step, _, rows), (was_skipped, loss, norm) in zip(unread, metrics, strict=True)
            if was_skipped
        ]
