"""Means of a training's metrics over the steps since the last log line."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import tensorflow as tf

LAST = ("learning_rate", "loss_scale")  # of which the last value is told, and not the mean
SHARES = ("applied", "skipped")  # 1 or 0 for each step; their means count every step


class IntervalMeans:
    """Holds the metrics of steps, which stay on the device until they are taken."""

    def __init__(self) -> None:
        self._steps: dict[int, Mapping[str, tf.Tensor]] = {}

    def record(self, step: int, values: Mapping[str, tf.Tensor]) -> None:
        """Add the metrics of a step that was launched, float32 scalars with the same names at each step."""
        self._steps[step] = values

    def drop_after(self, step: int) -> None:
        """Forget the steps after this one, because they are trained again."""
        self._steps = {number: values for number, values in self._steps.items() if number <= step}

    def take(self) -> dict[str, float]:
        """The metrics of the steps since the last call, by name; waits for the device.

        Steps whose loss or gradient is not finite are left out of the means, unless there is no other.
        """
        steps, self._steps = list(self._steps.values()), {}
        names = list(steps[-1])
        values = tf.stack([[one[name] for name in names] for one in steps]).numpy()
        is_finite = np.isfinite(values).all(axis=1)
        means = values[is_finite].mean(axis=0, dtype=np.float64) if is_finite.any() else values[-1]
        found = dict(zip(names, means.tolist(), strict=True))
        last = {name: float(values[-1, names.index(name)]) for name in LAST if name in found}
        return found | last | {name: float(values[:, names.index(name)].mean()) for name in SHARES if name in found}
