"""Adaptive loss weights: a weight as the share of the gradient that a term shall have."""

from __future__ import annotations

import tensorflow as tf

# guided attention does not pass through the layer that is shared by the others, and has a schedule of its own
BALANCED = ("mel", "kl", "flux", "stop", "voice")

MAX_RATIO = 100.0  # of an adapted weight to the one given: a term that is learned pulls no more, and shall not


def balance(weights: dict[str, tf.Tensor], gradients: dict[str, list[tf.Tensor]]) -> dict[str, tf.Tensor]:
    """Weights by which the gradients of terms have norms in the ratios of the weights given.

    GradNorm (Chen et al., 2018, arXiv:1711.02257) with α = 0, where all tasks shall learn from the same norm on the
    last layer that they share. There a step of gradient descent leads the weights towards it; here they are solved for
    at every step, so that there is nothing to be saved. The sum of the norms is left as it was.

    Args:
        weights: as given, of every term.
        gradients: of each balanced term unweighted, on the shared variables; all scaled alike. Where they overflow,
            as float16's do until the scale has found its place, weights are those given.
    """
    norms = {name: tf.linalg.global_norm(gradient) for name, gradient in gradients.items()}
    given = {name: weights[name] for name in norms}
    total, share = tf.add_n([given[name] * norm for name, norm in norms.items()]), tf.add_n(list(given.values()))
    ratios = {name: total / tf.maximum(share * norm, 1e-12) for name, norm in norms.items()}
    adapted = {
        name: weights[name]
        * tf.where(tf.math.is_finite(total), tf.clip_by_value(ratio, 1.0 / MAX_RATIO, MAX_RATIO), 1.0)
        for name, ratio in ratios.items()
    }
    return {name: tf.stop_gradient(weight) for name, weight in {**weights, **adapted}.items()}
