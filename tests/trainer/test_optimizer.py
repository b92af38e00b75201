"""AdamW and its schedule, against the paper's algorithm in float64."""

from __future__ import annotations

import math

import keras
import numpy as np
import pytest
import tensorflow as tf

from trainer.optimization.adamw import AdamW
from trainer.optimization.config import OptimizerConfig
from trainer.optimization.schedules import scheduled_rate

SHAPES = [(3, 4), (4,), (2, 3, 5), ()]
UPDATES = 20
STEPS = 10_000


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
            rate = config.learning_rate * (config.final_fraction + (1 - config.final_fraction) * cosine)
        for i, gradient in enumerate(found):
            gradient = gradient * min(1.0, config.clip_norm / norm)
            m[i] = config.beta_1 * m[i] + (1 - config.beta_1) * gradient
            v[i] = config.beta_2 * v[i] + (1 - config.beta_2) * gradient**2
            m_hat, v_hat = m[i] / (1 - config.beta_1 ** (update + 1)), v[i] / (1 - config.beta_2 ** (update + 1))
            decay = config.weight_decay * weights[i] if weights[i].ndim > 1 else 0.0
            weights[i] = weights[i] - rate * (m_hat / (np.sqrt(v_hat) + config.epsilon) + decay)
    return weights


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("epsilon", [1e-8, 1e-2])
def test_twenty_updates_are_those_of_the_paper(epsilon: float, compiled: bool) -> None:
    config = OptimizerConfig(learning_rate=0.01, warmup_steps=5, weight_decay=0.3, epsilon=epsilon)
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


def test_vectors_are_not_decayed() -> None:
    config = OptimizerConfig(learning_rate=0.1, warmup_steps=0, weight_decay=0.5)
    matrix, vector = keras.Variable(np.ones((2, 2), np.float32)), keras.Variable(np.ones(2, np.float32))
    AdamW(config, steps=10, variables=[matrix, vector]).apply([tf.zeros([2, 2]), tf.zeros([2])], loss=tf.constant(1.0))
    np.testing.assert_allclose(matrix.numpy(), 1 - 0.1 * 0.5, rtol=1e-6)
    np.testing.assert_array_equal(vector.numpy(), 1.0)


def rates(config: OptimizerConfig, *, steps: int = STEPS) -> np.ndarray:
    return scheduled_rate(config, step=tf.range(steps), steps=steps).numpy()


def test_the_schedule_warms_up_in_a_line_cools_without_a_jump_and_ends_at_its_fraction() -> None:
    config = OptimizerConfig(learning_rate=1e-3, warmup_steps=500, final_fraction=0.1)
    drawn = rates(config)
    assert np.isfinite(drawn).all()
    np.testing.assert_allclose(drawn[:500], 1e-3 * np.arange(1, 501) / 500, rtol=1e-5)
    assert np.argmax(drawn) in (499, 500)
    assert (np.diff(drawn[500:]) <= 1e-10).all()
    assert np.abs(np.diff(drawn)).max() <= 1e-3 / 500 * 1.001
    assert drawn[-1] == pytest.approx(1e-4, rel=1e-3)
    halfway = 500 + (STEPS - 500) // 2
    assert drawn[halfway] == pytest.approx((1e-3 + 1e-4) / 2, rel=1e-3)


@pytest.mark.parametrize(("warmup_steps", "steps"), [(0, 10), (10, 10), (100, 10), (0, 1), (1, 1)])
def test_short_schedules_are_finite_and_never_above_the_rate(warmup_steps: int, steps: int) -> None:
    drawn = rates(OptimizerConfig(learning_rate=1e-3, warmup_steps=warmup_steps), steps=steps)
    assert np.isfinite(drawn).all()
    assert (drawn > 0).all()
    assert drawn.max() <= 1e-3 * (1 + 1e-6)
