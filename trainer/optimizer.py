"""AdamW with warm-up and cosine decay; weight decay on matrices only.

Written out because it is part of the compiled step: Keras' AdamW computes schedule and bias correction anew for
each variable, which for the nano model is 9,000 of the graph's 13,900 nodes.
"""

from __future__ import annotations

import math

import keras
import pydantic
import tensorflow as tf

from shared.config import Config


class OptimizerConfig(Config):
    """How weights are updated."""

    learning_rate: float = pydantic.Field(3e-4, gt=0)
    warmup_steps: int = pydantic.Field(1_000, ge=0)
    final_fraction: float = pydantic.Field(0.05, ge=0, le=1)  # of the learning rate, at the last step
    weight_decay: float = pydantic.Field(0.01, ge=0)
    beta_1: float = pydantic.Field(0.9, gt=0, lt=1)
    beta_2: float = pydantic.Field(0.98, gt=0, lt=1)
    epsilon: float = pydantic.Field(1e-8, gt=0)
    clip_norm: float = pydantic.Field(1.0, gt=0)  # of all gradients together


def scheduled_rate(config: OptimizerConfig, *, step: tf.Tensor, steps: int) -> tf.Tensor:
    """The learning rate of update `step` (0 is the first): linear warm-up, then a half cosine to the last step."""
    step = tf.cast(step, tf.float32)
    warm = (step + 1.0) / max(1, config.warmup_steps)
    cooled = (step - config.warmup_steps) / max(1, steps - config.warmup_steps)
    cosine = 0.5 * (1.0 + tf.cos(math.pi * tf.clip_by_value(cooled, 0.0, 1.0)))
    decayed = config.final_fraction + (1.0 - config.final_fraction) * cosine
    return config.learning_rate * tf.where(step < config.warmup_steps, warm, decayed)


class AdamW:
    """Decoupled weight decay (Loshchilov & Hutter, 2019, algorithm 2) after clipping by the global norm."""

    def __init__(self, config: OptimizerConfig, *, steps: int, variables: list[keras.Variable]):
        self._config, self._steps, self._targets = config, steps, variables
        self.iterations = keras.Variable(0, dtype="int64", trainable=False, name="iterations")
        self._momenta = [_zeros_like(variable, name="momentum") for variable in variables]
        self._velocities = [_zeros_like(variable, name="velocity") for variable in variables]

    def state(self) -> dict[str, keras.Variable]:
        """Everything but the weights, by name."""
        named = {"iterations": self.iterations}
        for target, momentum, velocity in zip(self._targets, self._momenta, self._velocities, strict=True):
            named |= {f"{target.path}/momentum": momentum, f"{target.path}/velocity": velocity}
        return named

    def apply(self, gradients: list[tf.Tensor]) -> dict[str, tf.Tensor]:
        """Update the variables; returns the gradients' norm before clipping and the learning rate."""
        config, step = self._config, self.iterations.value
        norm = tf.linalg.global_norm(gradients)
        rate = scheduled_rate(config, step=step, steps=self._steps)
        count = tf.cast(step + 1, tf.float32)
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
            first += new_1 * (gradient - first)
            second += new_2 * (tf.square(gradient) - second)
            update = corrected * first / (tf.sqrt(second) + epsilon)
            momentum.assign(first)
            velocity.assign(second)
            variable.assign(weight - (update + decay * weight if len(weight.shape) > 1 else update))
        self.iterations.assign(step + 1)
        return {"gradient_norm": norm, "learning_rate": rate}


def _zeros_like(variable: keras.Variable, *, name: str) -> keras.Variable:
    return keras.Variable(tf.zeros(variable.shape), trainable=False, name=name)
