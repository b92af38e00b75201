"""Exponential moving average of the weights, for validation, export and synthesis."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import keras
import tensorflow as tf


class MovingAverage:
    """An exponential moving average whose decay after n updates is at most (1 + n) / (10 + n).

    The limit is that of TensorFlow's `ExponentialMovingAverage` with `num_updates`; without it the average would keep
    the initial weights for long.
    """

    def __init__(self, decay: float, *, variables: Sequence[keras.Variable]):
        self._decay, self._targets = decay, variables
        self.values = [
            keras.Variable(variable.numpy(), trainable=False, name="average", dtype="float32") for variable in variables
        ]

    def state(self) -> dict[str, keras.Variable]:
        """The averages by name."""
        pairs = zip(self._targets, self.values, strict=True)
        return {average_name(target.path): value for target, value in pairs}

    def moved(self, value: tf.Tensor, *, towards: tf.Tensor, updates: tf.Tensor) -> tf.Tensor:
        """The average of a weight after an update.

        Args:
            value: the average before it.
            towards: the updated weight.
            updates: number of updates, this one included.
        """
        decay = tf.minimum(self._decay, (1.0 + updates) / (10.0 + updates))
        return value + (1.0 - decay) * (towards - value)

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """A context in which the variables hold their averages."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    def _exchange(self) -> None:
        """Exchange all weights with their averages; if one fails for lack of memory, undo the others."""
        with contextlib.ExitStack() as undone:
            for target, average in zip(self._targets, self.values, strict=True):
                _exchange_pair(target, average)
                undone.callback(_exchange_pair, target, average)
            undone.pop_all()


def _exchange_pair(target: keras.Variable, average: keras.Variable) -> None:
    held = tf.identity(target.value)
    target.assign(average.value)
    try:
        average.assign(held)
    except BaseException:
        target.assign(held)
        raise


def average_name(path: str) -> str:
    """The name of a weight's average in the optimizer's state, from the weight's path."""
    return f"{path}/average"
