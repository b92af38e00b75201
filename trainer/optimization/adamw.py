"""AdamW: clipping by the global norm, weight decay on matrices only, steps that are no numbers left out.

Written out because it is part of the compiled step: Keras' AdamW computes schedule and bias correction anew for
each variable, which for the pico model is 9,000 of the graph's 13,900 nodes.
"""

from __future__ import annotations

import keras
import tensorflow as tf

from trainer.optimization.config import OptimizerConfig
from trainer.optimization.schedules import scheduled_fraction


class AdamW:
    """Decoupled weight decay (Loshchilov & Hutter, 2019, algorithm 2) after clipping by the global norm."""

    def __init__(self, config: OptimizerConfig, *, steps: int, variables: list[keras.Variable]):
        self._config, self._steps, self._targets = config, steps, variables
        self.iterations = _counter("iterations")  # steps, whether they updated weights or were skipped
        self.skipped, self.skipped_in_row = _counter("skipped"), _counter("skipped_in_row")
        self.schedule_start = _counter("schedule_start")  # the step at which the schedule began, or began anew
        self.rate_scale = keras.Variable(1.0, dtype="float32", trainable=False, name="rate_scale")
        self._momenta = [_zeros_like(variable, name="momentum") for variable in variables]
        self._velocities = [_zeros_like(variable, name="velocity") for variable in variables]

    def state(self) -> dict[str, keras.Variable]:
        """Everything but the weights, by name."""
        named = {
            "iterations": self.iterations,
            "skipped": self.skipped,
            "skipped_in_row": self.skipped_in_row,
            "schedule_start": self.schedule_start,
            "rate_scale": self.rate_scale,
        }
        for target, momentum, velocity in zip(self._targets, self._momenta, self._velocities, strict=True):
            named |= {f"{target.path}/momentum": momentum, f"{target.path}/velocity": velocity}
        return named

    def scale_rate(self, factor: float) -> None:
        """Multiply the learning rate from now on."""
        self.rate_scale.assign(self.rate_scale * factor)

    def restart_schedule(self) -> None:
        """Begin the schedule anew with the next step, its warm-up included; what of it lies ahead is shorter."""
        self.schedule_start.assign(self.iterations)

    def _rate(self) -> tf.Tensor:
        """The learning rate of the coming update."""
        start = self.schedule_start.value
        fraction = scheduled_fraction(
            self._config.schedule,
            step=self.iterations.value - start,
            steps=self._steps - start,
            warmup_steps=self._config.warmup_steps,
        )
        return self._config.learning_rate * self.rate_scale.value * fraction

    def apply(self, gradients: list[tf.Tensor], *, loss: tf.Tensor) -> dict[str, tf.Tensor]:
        """Update the variables, or leave all but the counters as they are where `loss` or a gradient is no number.

        Returns:
            The gradients' norm before clipping, the learning rate, and `applied`: 1 for an update, 0 for none.
        """
        config, step = self._config, self.iterations.value
        norm = tf.linalg.global_norm(gradients)
        is_finite = tf.math.is_finite(norm) & tf.math.is_finite(loss)
        rate = self._rate()
        count = tf.cast(step + 1 - self.skipped.value, tf.float32)  # updates of the moments
        # √(1 − β₂ᵗ) / (1 − β₁ᵗ) on the rate corrects both moments' bias at once; ε is scaled along
        root = tf.sqrt(1.0 - config.beta_2**count)
        corrected, epsilon = rate * root / (1.0 - config.beta_1**count), config.epsilon * root
        scale = config.clip_norm / tf.maximum(norm, config.clip_norm)
        new_1, new_2, decay = (
            tf.constant(1.0 - config.beta_1),
            tf.constant(1.0 - config.beta_2),
            rate * config.weight_decay,
        )
        for variable, momentum, velocity, gradient in zip(
            self._targets, self._momenta, self._velocities, gradients, strict=True
        ):
            gradient = gradient * scale
            weight, first, second = (tf.convert_to_tensor(one.value) for one in (variable, momentum, velocity))
            grown_1 = first + new_1 * (gradient - first)
            grown_2 = second + new_2 * (tf.square(gradient) - second)
            update = corrected * grown_1 / (tf.sqrt(grown_2) + epsilon)
            update = update + decay * weight if len(weight.shape) > 1 else update
            momentum.assign(tf.where(is_finite, grown_1, first))
            velocity.assign(tf.where(is_finite, grown_2, second))
            variable.assign(tf.where(is_finite, weight - update, weight))
        self._count(is_finite)
        return {"gradient_norm": norm, "learning_rate": rate, "applied": tf.cast(is_finite, tf.float32)}

    def _count(self, is_finite: tf.Tensor) -> None:
        lost = tf.cast(~is_finite, tf.int64)
        self.iterations.assign(self.iterations.value + 1)
        self.skipped.assign(self.skipped.value + lost)
        self.skipped_in_row.assign(lost * (self.skipped_in_row.value + 1))


def _counter(name: str) -> keras.Variable:
    return keras.Variable(0, dtype="int64", trainable=False, name=name)


def _zeros_like(variable: keras.Variable, *, name: str) -> keras.Variable:
    return keras.Variable(tf.zeros(variable.shape), trainable=False, name=name)
