"""Loss scaling for float16, whose smallest number is 6e-8: gradients below it would be zero.

The loss is multiplied by a power of two before the backward pass and gradients are divided by it after. The factor
doubles after so many updates in a row, and is halved where gradients overflow, which costs that step (Micikevicius et
al., 2018, arXiv:1710.03740, section 3.2). All of it is compiled with the step.
"""

from __future__ import annotations

import keras
import tensorflow as tf

from trainer.optim.assignment import assign

INITIAL, LEAST, MOST = 2.0**15, 1.0, 2.0**24
UPDATES_TO_GROWTH = 2_000


class LossScale:
    """The factor, and how many updates it has held for."""

    NAMES = ("loss_scale", "loss_scale_held")

    def __init__(self) -> None:
        self.factor = keras.Variable(INITIAL, dtype="float32", trainable=False, name="loss_scale")
        self._held = keras.Variable(0, dtype="int64", trainable=False, name="loss_scale_held")

    def state(self) -> dict[str, keras.Variable]:
        return dict(zip(self.NAMES, (self.factor, self._held), strict=True))

    def is_to_blame(self) -> tf.Tensor:
        """Whether gradients that are no numbers may be its doing: it can still be lowered."""
        return self.factor.value > LEAST

    def adapt(self, is_finite: tf.Tensor, *, is_loss_finite: tf.Tensor) -> None:
        """Grow after an update, shrink where only the gradients were no numbers; a loss that is none has no scale."""
        factor, held = self.factor.value, self._held.value
        is_due = held + 1 >= UPDATES_TO_GROWTH
        grown = tf.minimum(tf.where(is_due, 2.0 * factor, factor), MOST)
        shrunk = tf.where(is_loss_finite, tf.maximum(0.5 * factor, LEAST), factor)
        assign(self.factor, tf.where(is_finite, grown, shrunk))
        assign(self._held, tf.where(is_finite & ~is_due, held + 1, tf.where(is_loss_finite, tf.zeros_like(held), held)))
