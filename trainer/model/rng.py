"""Random numbers that depend on nothing but a seed and the place that asks.

A training step draws from (run's seed, step number), so that a resumed run draws what an undisturbed one
would have drawn, without a generator's state in the checkpoint.
"""

from __future__ import annotations

import copy

import tensorflow as tf

# named, since TensorFlow would otherwise choose by device
ALGORITHM = "philox"

MAX_DRAWS = 1 << 16  # of one source
BRANCH_DRAWS = 16  # set aside for a branch
MAX_STEPS = 1 << 40

HALVES = 1 << 16  # numbers that half of a drawn one can be: rates are rounded to so many parts


class Noise:
    """A source of independent draws, numbered in the order of tracing."""

    def __init__(
        self,
        *,
        seed: tf.Tensor | int,
        step: tf.Tensor,
        place: tf.Tensor | int = 0,
        rows_alike: bool = False,
        trains: bool = True,
    ):
        """Another seed, another step [] or another place [] in the step's work gives other numbers.

        With rows_alike a draw has one row, for all rows of a batch: each then gets what it would get alone. Where it
        does not train, nothing is dropped but what always is.
        """
        self._seed, self._draws = tf.cast(seed, tf.int64), 0
        self._step = tf.cast(step, tf.int64) + MAX_STEPS * tf.cast(place, tf.int64)
        self._rows_alike, self.trains = rows_alike, trains

    def _shape(self, shape: tf.Tensor | list[int]) -> tf.Tensor | list[int]:
        return tf.concat([[1], shape[1:]], 0) if self._rows_alike else shape

    def _next_seed(self) -> tf.Tensor:
        """[2] int64; the generator scrambles it, so neighbours are independent."""
        self._draws += 1
        return tf.stack([self._seed * MAX_DRAWS + self._draws, self._step])

    def normal(self, shape: tf.Tensor | list[int]) -> tf.Tensor:
        """Standard normal."""
        return tf.random.stateless_normal(self._shape(shape), self._next_seed(), alg=ALGORITHM)

    def uniform(self, shape: tf.Tensor | list[int]) -> tf.Tensor:
        """Uniform in [0, 1)."""
        return tf.random.stateless_uniform(self._shape(shape), self._next_seed(), alg=ALGORITHM)

    def dropout(self, values: tf.Tensor, *, rate: float, always: bool = False) -> tf.Tensor:
        """The values, a share `rate` of them zero and the others scaled up: in training, or always."""
        if rate == 0.0 or not (self.trains or always):
            return values
        kept = self.halves(tf.shape(values)) >= tf.constant(min(round(rate * HALVES), HALVES - 1), tf.uint16)
        return tf.where(kept, values / (1.0 - rate), tf.zeros_like(values))

    def halves(self, shape: tf.Tensor | list[int]) -> tf.Tensor:
        """Uniform among the uint16; two are made of each number drawn, for drawing is what dropout costs on a CPU."""
        shape = self._shape(shape)
        size = tf.reduce_prod(shape)
        words = tf.random.stateless_uniform(
            [-(-size // 2)], self._next_seed(), minval=None, maxval=None, dtype=tf.uint32, alg=ALGORITHM
        )
        return tf.reshape(tf.reshape(tf.bitcast(words, tf.uint16), [-1])[:size], shape)

    def advanced(self, draws: int) -> Noise:
        """A source that goes on so many draws from here."""
        other = copy.copy(self)
        other._draws += draws
        return other

    def skip(self, draws: int) -> None:
        """Leave out so many draws."""
        self._draws += draws


class Branch:
    """Draws set aside for a part of the graph that may be traced twice, and must then draw the same numbers."""

    def __init__(self, noise: Noise | None):
        """Without noise there is nothing to draw."""
        self._start = noise and noise.advanced(0)
        if noise is not None:
            noise.skip(BRANCH_DRAWS)

    def begin(self) -> Noise | None:
        """The source, at the beginning of its draws."""
        return self._start and self._start.advanced(0)
