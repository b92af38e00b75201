"""Learning rates as functions of the step."""

from __future__ import annotations

import math

import tensorflow as tf

from trainer.optimization.config import OptimizerConfig


def scheduled_rate(config: OptimizerConfig, *, step: tf.Tensor, steps: int) -> tf.Tensor:
    """The learning rate of update `step` (0 is the first): linear warm-up, then a half cosine to the last step."""
    step = tf.cast(step, tf.float32)
    warm = (step + 1.0) / max(1, config.warmup_steps)
    cooled = (step - config.warmup_steps) / max(1, steps - config.warmup_steps)
    cosine = 0.5 * (1.0 + tf.cos(math.pi * tf.clip_by_value(cooled, 0.0, 1.0)))
    decayed = config.final_fraction + (1.0 - config.final_fraction) * cosine
    return config.learning_rate * tf.where(step < config.warmup_steps, warm, decayed)
