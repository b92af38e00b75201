"""Learning rates as functions of the step: a linear warm-up to the peak, then one of several ways down.

constant  ╭──────   noam  ╭╮__    cosine  ╭─╮      cosine_restarts  ╭╮ ╷╮      trapezoid  ╭────╮
         ╱               ╱   ──          ╱   ╰──                   ╱ ╰─╵╰─               ╱      ╲
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import pydantic
import tensorflow as tf

from shared.config import Config


class Constant(Config):
    """The peak from the end of the warm-up on."""

    kind: Literal["constant"] = "constant"

    def fraction(self, since: tf.Tensor, *, warmup_steps: int, left: tf.Tensor) -> tf.Tensor:
        return tf.ones_like(since, tf.float32)


class Noam(Config):
    """Down with the root of the step (Vaswani et al., 2017, section 5.3), its constant such that the peak is 1.

    There the rate is d^−½ · min(s^−½, s · w^−1.5) with a warm-up of w steps; here it is that divided by its largest.
    """

    kind: Literal["noam"] = "noam"

    def fraction(self, since: tf.Tensor, *, warmup_steps: int, left: tf.Tensor) -> tf.Tensor:
        return tf.sqrt(max(1, warmup_steps) / (_float(since) + max(1, warmup_steps)))


class Cosine(Config):
    """Half a cosine down to a fraction of the peak, where it stays (Loshchilov & Hutter, 2017, without restarts)."""

    kind: Literal["cosine"] = "cosine"
    steps: int | None = pydantic.Field(None, ge=1)  # how long it takes after the warm-up; None: to the run's last step
    final_fraction: float = pydantic.Field(0.05, ge=0, le=1)

    def fraction(self, since: tf.Tensor, *, warmup_steps: int, left: tf.Tensor) -> tf.Tensor:
        progress = _float(since) / _float(left if self.steps is None else self.steps)
        return _above(self.final_fraction, _half_cosine(progress))


class CosineRestarts(Config):
    """Half cosines one after another (SGDR: Loshchilov & Hutter, 2017), each starting lower than the one before."""

    kind: Literal["cosine_restarts"] = "cosine_restarts"
    steps: int = pydantic.Field(8_000, ge=1)  # of each half cosine
    amplitude: float = pydantic.Field(0.8, gt=0, le=1)  # of a half cosine, over that of the one before it
    final_fraction: float = pydantic.Field(0.01, ge=0, le=1)

    def fraction(self, since: tf.Tensor, *, warmup_steps: int, left: tf.Tensor) -> tf.Tensor:
        # in whole numbers: a quotient of floats may round across a restart
        restarts, place = since // self.steps, since % self.steps
        amplitude = tf.pow(self.amplitude, _float(restarts))
        return _above(self.final_fraction, amplitude * _half_cosine(_float(place) / self.steps))


class Trapezoid(Config):
    """The peak, then down over the run's last part as 1 − √progress (Hägele et al., 2024, arXiv:2405.18392)."""

    kind: Literal["trapezoid"] = "trapezoid"
    cooldown: float = pydantic.Field(0.2, gt=0, le=1)  # of the steps after the warm-up
    final_fraction: float = pydantic.Field(0.0, ge=0, le=1)

    def fraction(self, since: tf.Tensor, *, warmup_steps: int, left: tf.Tensor) -> tf.Tensor:
        flat = (1.0 - self.cooldown) * _float(left)
        progress = tf.clip_by_value((_float(since) - flat) / (_float(left) - flat), 0.0, 1.0)
        return _above(self.final_fraction, 1.0 - tf.sqrt(progress))


Schedule = Annotated[Constant | Noam | Cosine | CosineRestarts | Trapezoid, pydantic.Field(discriminator="kind")]


def scheduled_fraction(schedule: Schedule, *, step: tf.Tensor, steps: tf.Tensor | int, warmup_steps: int) -> tf.Tensor:
    """What share of the peak the learning rate is at `step` (0 is the first, whole numbers) of a run of `steps`."""
    warm = (_float(step) + 1.0) / max(1, warmup_steps)
    left = tf.maximum(tf.cast(steps, step.dtype) - warmup_steps, 1)
    cooled = schedule.fraction(tf.maximum(step - warmup_steps, 0), warmup_steps=warmup_steps, left=left)
    return tf.where(step < warmup_steps, warm, cooled)


def _half_cosine(progress: tf.Tensor) -> tf.Tensor:
    return 0.5 * (1.0 + tf.cos(math.pi * tf.clip_by_value(progress, 0.0, 1.0)))


def _above(floor: float, fraction: tf.Tensor) -> tf.Tensor:
    return floor + (1.0 - floor) * fraction


def _float(steps: tf.Tensor | int) -> tf.Tensor:
    return tf.cast(steps, tf.float32)
