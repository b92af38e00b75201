"""Adaptive loss weights after GradNorm: a term's weight becomes its share of the gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

# without guided attention, which does not pass through the shared layer and has its own schedule
BALANCED_TERMS = ("mel", "kl", "flux", "stop")

# Limit of adapted over configured weight: the small gradient of a learned term must not be scaled up without limit.
MAX_RATIO = 100.0


class BalancedWeights(NamedTuple):
    """Weights of the loss terms."""

    weights: dict[str, tf.Tensor]  # for every term
    is_finite: tf.Tensor  # False if a gradient was not finite: the weights are then the configured ones


def balance_weights(weights: dict[str, tf.Tensor], gradients: dict[str, list[tf.Tensor]]) -> BalancedWeights:
    """Adapt the weights so that the gradient norms of the terms have the ratios of the configured weights.

    GradNorm (Chen et al., 2018, arXiv:1711.02257) with α = 0, which gives all tasks the same gradient norm on the last
    layer that they share. The paper approaches these weights by gradient descent; this function solves for them at
    every step, so there is no state to save. The sum of the norms stays the same.

    Args:
        weights: configured weight of every term.
        gradients: of each balanced, unweighted term with respect to the shared variables; all with the same scale.
    """
    norms = {name: tf.linalg.global_norm(gradient) for name, gradient in gradients.items()}
    given = {name: weights[name] for name in norms}
    total, share = tf.add_n([given[name] * norm for name, norm in norms.items()]), tf.add_n(list(given.values()))
    ratios = {name: total / tf.maximum(share * norm, 1e-12) for name, norm in norms.items()}
    is_finite = tf.math.is_finite(total)
    adapted = {
        name: weights[name] * tf.where(is_finite, tf.clip_by_value(ratio, 1.0 / MAX_RATIO, MAX_RATIO), 1.0)
        for name, ratio in ratios.items()
    }
    return BalancedWeights(
        {name: tf.stop_gradient(weight) for name, weight in {**weights, **adapted}.items()}, is_finite
    )


def poison_gradient(is_finite: tf.Tensor, loss: tf.Tensor) -> tf.Tensor:
    """Return the loss unchanged, but with NaN gradients unless `is_finite`.

    The optimizer then skips the step. If the terms overflowed because of float16's loss scale, it also lowers the
    scale, even if the gradient of the weighted sum is finite.
    """

    @tf.custom_gradient
    def poisoned(value: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
        return value, lambda upstream: tf.where(is_finite, upstream, float("nan"))

    return poisoned(loss)
