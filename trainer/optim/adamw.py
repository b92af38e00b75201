"""AdamW with clipping by the global norm, weight decay on matrices only, and no update by non-finite gradients.

Written out because it is part of the compiled step: Keras' AdamW computes schedule and bias correction again for each
variable, which for the pico model is 9,000 of the graph's 13,900 nodes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import NamedTuple

import keras
import tensorflow as tf

from trainer.config.optim_config import OptimizerConfig
from trainer.config.schedule_config import Schedule
from trainer.optim.assignment import assign
from trainer.optim.ema import MovingAverage
from trainer.optim.loss_scale import LossScale
from trainer.optim.schedules import scheduled_fraction

_COUNTERS = (
    "iterations",  # all steps
    "updates",  # steps that changed the weights
    "skipped",  # steps without an update, because the loss or a gradient was not finite
    "skipped_in_row",
    "schedule_start",  # step at which the schedule started or was restarted
)
_QUARTERS = 4  # of a gradient's rows, summed first
_LEARNED_INPUTS = {"embeddings", "latents", "no_latents", "tokens"}  # names of weights that multiply nothing


class _Common(NamedTuple):
    """Scalars of an update that all variables share."""

    scale: tf.Tensor  # of gradients
    rate: tf.Tensor  # with the correction of both moments' bias
    epsilon: tf.Tensor
    decay: tf.Tensor
    count: tf.Tensor  # of updates, with this one
    is_finite: tf.Tensor  # False: nothing moves


class AdamW:
    """Decoupled weight decay (Loshchilov & Hutter, 2019, algorithm 2) after clipping by the global norm."""

    def __init__(
        self,
        config: OptimizerConfig,
        *,
        steps: int,
        variables: Sequence[keras.Variable],
        scales_loss: bool = False,
        rate_factors: Sequence[float] | None = None,
    ):
        """
        Args:
            scales_loss: for gradients in float16.
            rate_factors: of the learning rate of each variable; None: 1.
        """
        self._config, self._steps, self._targets = config, steps, variables
        self._rate_factors = rate_factors or [1.0] * len(variables)
        self._counters = {name: _counter(name) for name in _COUNTERS}
        self.iterations = self._counters["iterations"]
        self.rate_scale = keras.Variable(1.0, dtype="float32", trainable=False, name="rate_scale")
        self.loss_scale = LossScale() if scales_loss else None
        self._average = MovingAverage(config.ema_decay, variables=variables) if config.ema_decay else None
        self._momenta = [_zeros_like(variable, name="momentum") for variable in variables]
        self._velocities = [_zeros_like(variable, name="velocity") for variable in variables]
        self._moved = tf.function(self._move, autograph=False)

    def state(self) -> dict[str, keras.Variable]:
        """The variables that a checkpoint needs besides the weights, by name."""
        named = {**self._counters, "rate_scale": self.rate_scale}
        named |= self.loss_scale.state() if self.loss_scale else {}
        named |= self._average.state() if self._average else {}
        for target, momentum, velocity in zip(self._targets, self._momenta, self._velocities, strict=True):
            named |= {f"{target.path}/momentum": momentum, f"{target.path}/velocity": velocity}
        return named

    @property
    def schedule_variables(self) -> list[keras.Variable]:
        """The variables that `scale_rate` and `restart_schedule` set."""
        return [self.rate_scale, self._counters["schedule_start"]]

    @property
    def skipped_in_row(self) -> int:
        """The number of latest consecutive steps without an update."""
        return int(self._counters["skipped_in_row"].numpy())

    @property
    def schedule(self) -> Schedule:
        """The learning-rate schedule."""
        return self._config.schedule

    def rate_with_steps(self, steps: int) -> float:
        """The learning rate of the next update if the run had `steps` steps."""
        return float(self._rate(steps))

    def scale_rate(self, factor: float) -> None:
        """Multiply the learning rate of all later steps."""
        self.rate_scale.assign(self.rate_scale * factor)

    def restart_schedule(self) -> None:
        """Restart the schedule at the next step, warm-up included; it is compressed into the remaining steps."""
        self._counters["schedule_start"].assign(self.iterations)

    def averaged(self) -> contextlib.AbstractContextManager[None]:
        """A context in which the variables hold the moving average of the weights, if there is one."""
        return self._average.in_use() if self._average else contextlib.nullcontext()

    def scale_loss(self, loss: tf.Tensor) -> tf.Tensor:
        """The loss to differentiate: multiplied by the loss scale, if there is one."""
        return loss * self.loss_scale.factor.value if self.loss_scale else loss

    def apply(
        self, gradients: Sequence[tf.Tensor], *, loss: tf.Tensor, norm: tf.Tensor | None = None
    ) -> dict[str, tf.Tensor]:
        """Update the variables; if `loss` or a gradient is not finite, change only the counters.

        Args:
            gradients: of the scaled loss.
            loss: the loss itself.
            norm: of the gradients, by `norm_of`, where they come from a program that has worked it out.

        Returns:
            float32 scalars: `gradient_norm` before clipping, `learning_rate`, `applied` (1: the weights changed),
            `skipped` (1: no update, for another reason than the loss scale), `loss_scale` if there is one.
        """
        unscale = 1.0 / self.loss_scale.factor.value if self.loss_scale else 1.0
        norm = unscale * (global_norm(gradients) if norm is None else norm)
        is_loss_finite = tf.math.is_finite(loss)
        is_finite = tf.math.is_finite(norm) & is_loss_finite
        rate = self._rate(self._steps)
        scale = unscale * self._config.clip_norm / tf.maximum(norm, self._config.clip_norm)
        self._update(gradients, scale=scale, rate=rate, is_finite=is_finite)
        is_lost = self._count(is_finite, is_loss_finite=is_loss_finite)
        figures = {"gradient_norm": norm, "learning_rate": rate, "applied": is_finite, "skipped": is_lost}
        if self.loss_scale:
            figures["loss_scale"] = tf.identity(self.loss_scale.factor.value)  # read before it is adapted
            self.loss_scale.update(is_finite, is_loss_finite=is_loss_finite)
        return {name: tf.cast(value, tf.float32) for name, value in figures.items()}

    def _rate(self, steps: int) -> tf.Tensor:
        """The learning rate of the next update, for a schedule over `steps` steps."""
        start = self._counters["schedule_start"].value
        fraction = scheduled_fraction(
            self._config.schedule,
            step=self.iterations.value - start,
            steps=steps - start,
            warmup_steps=self._config.warmup_steps,
        )
        return self._config.learning_rate * self.rate_scale.value * fraction

    def _update(
        self, gradients: Sequence[tf.Tensor], *, scale: tf.Tensor, rate: tf.Tensor, is_finite: tf.Tensor
    ) -> None:
        """Update all variables and moments by gradients times `scale`."""
        config, count = self._config, tf.cast(self._counters["updates"].value + 1, tf.float32)
        # √(1 − β₂ᵗ) / (1 − β₁ᵗ) on the rate corrects both moments' bias at once; ε is scaled along
        root = tf.sqrt(1.0 - config.beta_2**count)
        corrected, epsilon = rate * root / (1.0 - config.beta_1**count), config.epsilon * root
        common = _Common(scale, corrected, epsilon, rate * config.weight_decay, count, is_finite)
        averages = self._average.values if self._average else [None] * len(self._targets)
        for variable, factor, momentum, velocity, average, gradient in zip(
            self._targets, self._rate_factors, self._momenta, self._velocities, averages, gradients, strict=True
        ):
            kept = (variable, momentum, velocity, *([average] if average is not None else []))
            values = [tf.convert_to_tensor(one.value) for one in kept]
            moved = self._moved(gradient, values, common, factor=factor, decays=is_decayed(variable))
            for one, value in zip(kept, moved, strict=True):
                assign(one, value)

    def _move(
        self, gradient: tf.Tensor, values: Sequence[tf.Tensor], common: _Common, *, factor: float, decays: bool
    ) -> list[tf.Tensor]:
        """Return a variable, its momentum, its velocity and its average, if there is one, after an update.

        `values` are these before the update. The function is traced once for all variables of a shape, which takes
        half the time that one graph of all variables takes.
        """
        config, is_finite = self._config, common.is_finite
        weight, first, second, *averages = values
        gradient = gradient * common.scale
        # the selected value, not the candidate, is used below; otherwise XLA computes it once for each use, and
        # copies each variable before it is written
        first = tf.where(is_finite, first + (1.0 - config.beta_1) * (gradient - first), first)
        second = tf.where(is_finite, second + (1.0 - config.beta_2) * (tf.square(gradient) - second), second)
        update = common.rate * first / (tf.sqrt(second) + common.epsilon)
        change = update + common.decay * weight if decays else update
        moved = weight - (change if factor == 1.0 else factor * change)
        weight = tf.where(is_finite, moved, weight)
        if not self._average:
            return [weight, first, second]
        (mean,) = averages
        moved_mean = self._average.moved(mean, towards=weight, updates=common.count)
        return [weight, first, second, tf.where(is_finite, moved_mean, mean)]

    def _count(self, is_finite: tf.Tensor, *, is_loss_finite: tf.Tensor) -> tf.Tensor:
        """Advance the counters; return True if the step was lost for another reason than the loss scale."""
        is_lost = ~is_finite
        if self.loss_scale:
            is_lost &= ~(is_loss_finite & self.loss_scale.can_shrink())
        lost, counters = tf.cast(is_lost, tf.int64), self._counters
        in_row = counters["skipped_in_row"].value + lost
        assign(counters["iterations"], counters["iterations"].value + 1)
        assign(counters["updates"], counters["updates"].value + tf.cast(is_finite, tf.int64))
        assign(counters["skipped"], counters["skipped"].value + lost)
        assign(counters["skipped_in_row"], tf.where(is_lost, in_row, tf.zeros_like(in_row)))
        return is_lost


def is_decayed(variable: keras.Variable) -> bool:
    """True for matrices: weights of two dimensions or more, but for embeddings and learned latents."""
    return len(variable.shape) > 1 and variable.path.rpartition("/")[2] not in _LEARNED_INPUTS


def global_norm(gradients: Sequence[tf.Tensor]) -> tf.Tensor:
    """The square root of the sum of all squares.

    On a CPU, XLA adds numbers one by one, each addition waiting for the one before. Adding rows first gives many
    independent sums, and adding quarters of the rows before that shortens each sum: 2 ms for 5.4 million numbers, where
    `tf.linalg.global_norm` takes 5.
    """
    return tf.sqrt(tf.reduce_sum(tf.concat([_sum_of_rows(tf.square(one)) for one in gradients], 0)))


def _sum_of_rows(values: tf.Tensor) -> tf.Tensor:
    if len(values.shape) < 2:  # as it is: each operation counts in a program of hundreds of variables
        return values if len(values.shape) else values[None]
    if values.shape[0] % _QUARTERS == 0:
        values = tf.add_n(tf.split(values, _QUARTERS))
    return tf.reduce_sum(values, list(range(len(values.shape) - 1)))


def _counter(name: str) -> keras.Variable:
    return keras.Variable(0, dtype="int64", trainable=False, name=name)


def _zeros_like(variable: keras.Variable, *, name: str) -> keras.Variable:
    return keras.Variable(tf.zeros(variable.shape), trainable=False, name=name)
