"""Adaptive loss weights: a weight as the share of the gradient that a term shall have."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

# guided attention does not pass through the layer that is shared by the others, and has a schedule of its own
BALANCED_TERMS = ("mel", "kl", "flux", "stop", "voice")

MAX_RATIO = 100.0  # of an adapted weight to the one given: a term that is learned pulls no more, and shall not


class BalancedWeights(NamedTuple):
    """Weights by which the loss is summed."""

    weights: dict[str, tf.Tensor]  # of every term
    is_sound: tf.Tensor  # False where a gradient was no number: they are those given


def balance_weights(weights: dict[str, tf.Tensor], gradients: dict[str, list[tf.Tensor]]) -> BalancedWeights:
    """Weights by which the gradients of terms have norms in the ratios of the weights given.

    GradNorm (Chen et al., 2018, arXiv:1711.02257) with α = 0, where all tasks shall learn from the same norm on the
    last layer that they share. There a step of gradient descent leads the weights towards it; here they are solved for
    at every step, so that there is nothing to be saved. The sum of the norms is left as it was.

    Args:
        weights: as given, of every term.
        gradients: of each balanced term unweighted, on the shared variables; all scaled alike.
    """
    norms = {name: tf.linalg.global_norm(gradient) for name, gradient in gradients.items()}
    given = {name: weights[name] for name in norms}
    total, share = tf.add_n([given[name] * norm for name, norm in norms.items()]), tf.add_n(list(given.values()))
    ratios = {name: total / tf.maximum(share * norm, 1e-12) for name, norm in norms.items()}
    is_sound = tf.math.is_finite(total)
    adapted = {
        name: weights[name] * tf.where(is_sound, tf.clip_by_value(ratio, 1.0 / MAX_RATIO, MAX_RATIO), 1.0)
        for name, ratio in ratios.items()
    }
    return BalancedWeights(
        {name: tf.stop_gradient(weight) for name, weight in {**weights, **adapted}.items()}, is_sound
    )


def poison_gradient(is_sound: tf.Tensor, loss: tf.Tensor) -> tf.Tensor:
    """The loss, with a gradient that is no number unless `is_sound`: the step is then left out, and where float16's
    scale is what the terms overflowed by, it is lowered, though their weighted sum might have done without.
    """

    @tf.custom_gradient
    def spoilt(value: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
        return value, lambda upstream: tf.where(is_sound, upstream, float("nan"))

    return spoilt(loss)
