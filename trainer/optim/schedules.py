"""Learning-rate schedules as TensorFlow functions of the step: a linear warm-up to the peak, then a decay.

constant  ╭──────   noam  ╭╮__    cosine  ╭─╮      cosine_restarts  ╭╮ ╷╮      trapezoid  ╭────╮
         ╱               ╱   ──          ╱   ╰──                   ╱ ╰─╵╰─               ╱      ╲
"""

from __future__ import annotations

import math

import tensorflow as tf

from trainer.config.schedule_config import Constant, Cosine, CosineRestarts, Noam, Schedule, Trapezoid


def scheduled_fraction(schedule: Schedule, *, step: tf.Tensor, steps: tf.Tensor | int, warmup_steps: int) -> tf.Tensor:
    """The learning rate at `step`, as a fraction of its peak; float32 scalar.

    Args:
        step: integer scalar; 0 is the first step.
        steps: length of the run.
    """
    warm = (_float(step) + 1.0) / max(1, warmup_steps)
    decay_steps = tf.maximum(tf.cast(steps, step.dtype) - warmup_steps, 1)
    since = tf.maximum(step - warmup_steps, 0)
    decayed = _decay(schedule, since=since, decay_steps=decay_steps, warmup_steps=warmup_steps)
    return tf.where(step < warmup_steps, warm, decayed)


def _decay(schedule: Schedule, *, since: tf.Tensor, decay_steps: tf.Tensor, warmup_steps: int) -> tf.Tensor:
    """The fraction `since` steps after the warm-up of a run that has `decay_steps` steps after it."""
    match schedule:
        case Constant():
            return tf.ones_like(since, tf.float32)
        case Noam():
            return _noam(since, warmup_steps=warmup_steps)
        case Cosine(steps=steps):
            progress = _float(since) / _float(decay_steps if steps is None else steps)
            return _with_floor(schedule.final_fraction, _half_cosine(progress))
        case CosineRestarts():
            return _cosine_restarts(schedule, since=since)
        case Trapezoid():
            return _trapezoid(schedule, since=since, decay_steps=decay_steps)


def _noam(since: tf.Tensor, *, warmup_steps: int) -> tf.Tensor:
    """Vaswani et al., 2017, section 5.3: d^−½ · min(s^−½, s · w^−1.5) for w warm-up steps, divided by its maximum."""
    return tf.sqrt(max(1, warmup_steps) / (_float(since) + max(1, warmup_steps)))


def _cosine_restarts(schedule: CosineRestarts, *, since: tf.Tensor) -> tf.Tensor:
    # in whole numbers: a quotient of floats may round across a restart
    restarts, place = since // schedule.steps, since % schedule.steps
    amplitude = tf.pow(schedule.amplitude, _float(restarts))
    return _with_floor(schedule.final_fraction, amplitude * _half_cosine(_float(place) / schedule.steps))


def _trapezoid(schedule: Trapezoid, *, since: tf.Tensor, decay_steps: tf.Tensor) -> tf.Tensor:
    flat = (1.0 - schedule.cooldown) * _float(decay_steps)
    progress = tf.clip_by_value((_float(since) - flat) / (_float(decay_steps) - flat), 0.0, 1.0)
    return _with_floor(schedule.final_fraction, 1.0 - tf.sqrt(progress))


def _half_cosine(progress: tf.Tensor) -> tf.Tensor:
    return 0.5 * (1.0 + tf.cos(math.pi * tf.clip_by_value(progress, 0.0, 1.0)))


def _with_floor(floor: float, fraction: tf.Tensor) -> tf.Tensor:
    return floor + (1.0 - floor) * fraction


def _float(steps: tf.Tensor | int) -> tf.Tensor:
    return tf.cast(steps, tf.float32)
