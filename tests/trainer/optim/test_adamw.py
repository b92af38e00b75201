"""AdamW against the paper's algorithm in float64."""

from __future__ import annotations

import math
from collections.abc import Callable

import keras
import numpy as np
import pytest
import tensorflow as tf

from trainer.config.optim_config import OptimizerConfig
from trainer.model.xtts import XTTS
from trainer.optim.adamw import AdamW, is_decayed

SHAPES = [(3, 4), (4,), (2, 3, 5), (8, 3), ()]
UPDATES = 20


def gradients(update: int) -> list[np.ndarray]:
    """Some small, some large enough to be clipped."""
    random = np.random.default_rng(update)
    return [(0.1 if update % 2 else 3.0) * random.normal(size=shape).astype(np.float32) for shape in SHAPES]


def by_the_paper(weights: list[np.ndarray], *, config: OptimizerConfig, steps: int) -> list[np.ndarray]:
    """Loshchilov & Hutter, 2019, algorithm 2, with clipping before it; decay on matrices only."""
    weights = [weight.astype(np.float64) for weight in weights]
    m, v = ([np.zeros(shape) for shape in SHAPES] for _ in range(2))
    for update in range(UPDATES):
        found = [gradient.astype(np.float64) for gradient in gradients(update)]
        norm = math.sqrt(sum(float(np.sum(gradient**2)) for gradient in found))
        rate = config.learning_rate * (update + 1) / config.warmup_steps
        if update >= config.warmup_steps:
            cosine = (1 + math.cos(math.pi * (update - config.warmup_steps) / (steps - config.warmup_steps))) / 2
            rate = config.learning_rate * (0.05 + 0.95 * cosine)
        for i, gradient in enumerate(found):
            gradient = gradient * min(1.0, config.clip_norm / norm)
            m[i] = config.beta_1 * m[i] + (1 - config.beta_1) * gradient
            v[i] = config.beta_2 * v[i] + (1 - config.beta_2) * gradient**2
            m_hat, v_hat = m[i] / (1 - config.beta_1 ** (update + 1)), v[i] / (1 - config.beta_2 ** (update + 1))
            decay = config.weight_decay * weights[i] if weights[i].ndim > 1 else 0.0
            weights[i] = weights[i] - rate * (m_hat / (np.sqrt(v_hat) + config.epsilon) + decay)
    return weights


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("options", [{}, {"beta_1": 0.8, "beta_2": 0.95, "epsilon": 1e-2}], ids=["", "with options"])
def test_twenty_updates_are_those_of_the_paper(options: dict[str, float], compiled: bool) -> None:
    config = OptimizerConfig(learning_rate=0.01, warmup_steps=5, weight_decay=0.3, **options)
    start = [np.random.default_rng(100).normal(size=shape).astype(np.float32) for shape in SHAPES]
    variables = [keras.Variable(weight) for weight in start]
    optimizer = AdamW(config, steps=30, variables=variables)
    apply = tf.function(optimizer.apply, jit_compile=True) if compiled else optimizer.apply
    for update in range(UPDATES):
        found = [tf.constant(gradient) for gradient in gradients(update)]
        figures = apply(found, loss=tf.constant(1.0))
        assert float(figures["gradient_norm"]) == pytest.approx(
            np.sqrt(sum(np.sum(gradient.numpy() ** 2) for gradient in found)), rel=1e-5
        )
    for variable, expected in zip(variables, by_the_paper(start, config=config, steps=30), strict=True):
        np.testing.assert_allclose(variable.numpy(), expected, rtol=1e-4, atol=2e-6)
    assert int(optimizer.iterations.value) == UPDATES


def held(thing: object) -> list[keras.Variable]:
    """Every variable that an object holds, in whatever it holds."""
    if isinstance(thing, keras.Variable):
        return [thing]
    if isinstance(thing, dict | list | tuple):
        return [one for inner in (thing.values() if isinstance(thing, dict) else thing) for one in held(inner)]
    if type(thing).__module__.startswith("trainer.optim"):
        return held(getattr(thing, "__dict__", {}))
    return []


def test_the_state_to_be_saved_is_every_variable_but_the_weights() -> None:
    weights = [keras.Variable(np.ones(shape, np.float32)) for shape in SHAPES]
    optimizer = AdamW(OptimizerConfig(ema_decay=0.9), steps=10, variables=weights, scales_loss=True)
    found = {id(one) for one in held(optimizer)} - {id(one) for one in weights}
    assert found == {id(one) for one in optimizer.state().values()}
    assert len(found) == 3 * len(SHAPES) + 5 + 1 + 2  # moments and averages; counters, the rate's scale, the loss's


def test_embeddings_and_learned_latents_are_not_decayed(narrow_models: Callable[..., XTTS]) -> None:
    variables = narrow_models(style_tokens=4).trainable_variables
    left = [one.path.removeprefix("xtts/") for one in variables if len(one.shape) > 1 and not is_decayed(one)]
    assert sorted(left) == [
        "audio_encoder/no_latents",
        "audio_encoder/resampler/latents",
        "audio_encoder/style/tokens",
        "text_encoder/embedding/embeddings",
    ]
    assert all(one.path.endswith("kernel") for one in variables if is_decayed(one))


def test_the_learning_rate_of_each_variable_has_its_factor() -> None:
    config = OptimizerConfig(learning_rate=0.1, warmup_steps=0, weight_decay=0.5)
    moved = []
    for factor in (1.0, 0.25):
        weight = keras.Variable(np.ones((2, 2), np.float32))
        optimizer = AdamW(config, steps=10, variables=[weight], rate_factors=[factor])
        optimizer.apply([tf.constant([[1.0, -2.0], [0.5, 0.0]])], loss=tf.constant(1.0))
        moved.append(1.0 - weight.numpy())
    np.testing.assert_allclose(moved[1], 0.25 * moved[0], rtol=1e-5)
    assert (moved[0] != 0).all()


def test_vectors_are_not_decayed() -> None:
    config = OptimizerConfig(learning_rate=0.1, warmup_steps=0, weight_decay=0.5)
    matrix, vector = keras.Variable(np.ones((2, 2), np.float32)), keras.Variable(np.ones(2, np.float32))
    AdamW(config, steps=10, variables=[matrix, vector]).apply([tf.zeros([2, 2]), tf.zeros([2])], loss=tf.constant(1.0))
    np.testing.assert_allclose(matrix.numpy(), 1 - 0.1 * 0.5, rtol=1e-6)
    np.testing.assert_array_equal(vector.numpy(), 1.0)


def test_each_variable_adds_few_operations_to_the_graph_of_an_update(narrow_models: Callable[..., XTTS]) -> None:
    """Variables of a shape share a function: written out, each adds 40 operations, which take seconds to trace."""
    variables = narrow_models(4).trainable_variables
    optimizer = AdamW(OptimizerConfig(ema_decay=0.9), steps=30, variables=variables)
    given = [tf.TensorSpec(variable.shape) for variable in variables]
    update = tf.function(lambda found: optimizer.apply(found, loss=tf.constant(1.0)), autograph=False)
    graph = update.get_concrete_function(given).graph
    shapes = {(tuple(variable.shape), is_decayed(variable)) for variable in variables}
    functions = [one.signature.name for one in graph.as_graph_def().library.function]
    assert len(functions) <= len(shapes)
    assert len(graph.get_operations()) < 21 * len(variables) + 100
