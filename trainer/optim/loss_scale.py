"""Dynamic loss scaling for float16, whose smallest number is 6e-8: smaller gradients would be zero.

The loss is multiplied by a power of two before the backward pass, and gradients are divided by it afterwards. The
factor doubles after UPDATES_TO_GROWTH updates in a row, and is halved if gradients overflow, which costs that step
(Micikevicius et al., 2018, arXiv:1710.03740, section 3.2). All of it is compiled with the step.
"""

from __future__ import annotations

import keras
import tensorflow as tf

from trainer.optim.assignment import assign

INITIAL, MIN_SCALE, MAX_SCALE = 2.0**15, 1.0, 2.0**24
UPDATES_TO_GROWTH = 2_000


class LossScale:
    """The factor, and the number of updates since it last changed."""

    NAMES = ("loss_scale", "loss_scale_held")

    def __init__(self) -> None:
        self.factor = keras.Variable(INITIAL, dtype="float32", trainable=False, name="loss_scale")
        self._held = keras.Variable(0, dtype="int64", trainable=False, name="loss_scale_held")

    def state(self) -> dict[str, keras.Variable]:
        return dict(zip(self.NAMES, (self.factor, self._held), strict=True))

    def can_shrink(self) -> tf.Tensor:
        """True if the factor can still be lowered, and so may be the cause of non-finite gradients."""
        return self.factor.value > MIN_SCALE

    def update(self, is_finite: tf.Tensor, *, is_loss_finite: tf.Tensor) -> None:
        """Grow after an update; shrink if the loss was finite and the gradients were not; else keep the factor."""
        factor, held = self.factor.value, self._held.value
        is_due = held + 1 >= UPDATES_TO_GROWTH
        grown = tf.minimum(tf.where(is_due, 2.0 * factor, factor), MAX_SCALE)
        shrunk = tf.where(is_loss_finite, tf.maximum(0.5 * factor, MIN_SCALE), factor)
        assign(self.factor, tf.where(is_finite, grown, shrunk))
        assign(self._held, tf.where(is_finite & ~is_due, held + 1, tf.where(is_loss_finite, tf.zeros_like(held), held)))
