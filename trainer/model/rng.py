"""Random numbers for dropout and sampling that depend only on a seed, a step number and the order of the draws.

A training step draws from (run's seed, step number). A resumed run therefore draws the numbers that an uninterrupted
run would have drawn, and a checkpoint needs no generator state.
"""

from __future__ import annotations

import copy
import math

import numpy as np
import tensorflow as tf

# fixed, since TensorFlow would otherwise choose by device
ALGORITHM = "philox"

MAX_DRAWS = 1 << 16  # of one stream
FORK_DRAWS = 16  # reserved for a fork
MAX_STEPS = 1 << 40

UINT16_VALUES = 1 << 16  # dropout rates are rounded to multiples of one over this


def shape_of(values: tf.Tensor | np.ndarray) -> tf.Tensor | list[int]:
    """The shape as numbers if all are known, else [D] int32: what is known needs no operation in a graph."""
    known = list(values.shape)
    return tf.shape(values) if None in known else known


class RngStream:
    """A stream of independent draws, numbered in the order of tracing."""

    def __init__(
        self,
        *,
        seed: tf.Tensor | int,
        step: tf.Tensor,
        place: tf.Tensor | int = 0,
        rows_alike: bool = False,
        trains: bool = True,
    ):
        """
        Args:
            seed, step, place: a stream with another seed, step [] or place [] (a part of the step's batch) has other
                numbers.
            rows_alike: draw one row for all rows of a batch, so that each row gets what it would get alone.
            trains: False disables all dropout except the pre-net's, and the dropout of references.
        """
        self._seed, self._draws = tf.cast(seed, tf.int64) * MAX_DRAWS, 0
        self._step = tf.cast(step, tf.int64) + MAX_STEPS * tf.cast(place, tf.int64)
        self._rows_alike, self.trains = rows_alike, trains

    def _shape(self, shape: tf.Tensor | list[int]) -> tf.Tensor | list[int]:
        if not self._rows_alike:
            return shape
        return [1, *shape[1:]] if isinstance(shape, list) else tf.concat([[1], shape[1:]], 0)

    def _next_seed(self) -> tf.Tensor:
        """The seed of the next draw, [2] int64; the generator scrambles it, so neighbours are independent."""
        self._draws += 1
        return tf.stack([self._seed + self._draws, self._step])

    def normal(self, shape: tf.Tensor | list[int]) -> tf.Tensor:
        """Standard normal numbers."""
        return tf.random.stateless_normal(self._shape(shape), self._next_seed(), alg=ALGORITHM)

    def uniform(self, shape: tf.Tensor | list[int]) -> tf.Tensor:
        """Uniform numbers in [0, 1)."""
        return tf.random.stateless_uniform(self._shape(shape), self._next_seed(), alg=ALGORITHM)

    def dropout(self, values: tf.Tensor, *, rate: float, always: bool = False) -> tf.Tensor:
        """Set a share `rate` of the values to zero and scale up the others: in training, or `always`."""
        if rate == 0.0 or not (self.trains or always):
            return values
        threshold = min(round(rate * UINT16_VALUES), UINT16_VALUES - 1)
        kept = self.uniform_uint16(shape_of(values)) >= tf.constant(threshold, tf.uint16)
        return tf.where(kept, values / (1.0 - rate), tf.zeros_like(values))

    def uniform_uint16(self, shape: tf.Tensor | list[int]) -> tf.Tensor:
        """Uniform uint16 numbers, two from each number drawn: on a CPU, drawing is the cost of dropout."""
        shape = self._shape(shape)
        size = math.prod(shape) if isinstance(shape, list) else tf.reduce_prod(shape)
        words = tf.random.stateless_uniform(
            [-(-size // 2)], self._next_seed(), minval=None, maxval=None, dtype=tf.uint32, alg=ALGORITHM
        )
        return tf.reshape(tf.reshape(tf.bitcast(words, tf.uint16), [-1])[:size], shape)

    def copy(self) -> RngStream:
        """A stream that draws the same numbers as this one from here on."""
        return copy.copy(self)

    def skip(self, draws: int) -> None:
        """Leave out `draws` draws."""
        self._draws += draws


class RngFork:
    """Draws reserved for a part of the graph that may be traced twice, and must then draw the same numbers."""

    def __init__(self, noise: RngStream | None):
        """Reserve the next draws of `noise`; without it, `begin` returns None."""
        self._start = noise and noise.copy()
        if noise is not None:
            noise.skip(FORK_DRAWS)

    def begin(self) -> RngStream | None:
        """A stream at the first reserved draw."""
        return self._start and self._start.copy()
