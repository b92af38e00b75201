"""A moving average of the weights, which validation, export and synthesis use in their place."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import keras
import tensorflow as tf


class MovingAverage:
    """An exponential moving average, young at first: its decay after n updates is at most (1 + n) / (10 + n).

    That is TensorFlow's `ExponentialMovingAverage` with `num_updates`; without it the start would be remembered long.
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
        """The next average after the update that made a weight what it is."""
        decay = tf.minimum(self._decay, (1.0 + updates) / (10.0 + updates))
        return value + (1.0 - decay) * (towards - value)

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """The variables hold their averages meanwhile, and afterwards what they held before."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    def _exchange(self) -> None:
        """All of them or, where one fails for want of memory, none: half of each would be weights of no model."""
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
    """How the average of the weight of this path is called among the optimizer's state."""
    return f"{path}/average"
