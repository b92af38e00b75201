"""Adaptive loss weights: shares of the gradient on the last shared layer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

from tests.trainer.models import perturbed_narrow, random_batch, teacher_force
from trainer.config.loss_config import LossConfig
from trainer.config.optim_config import OptimizerConfig
from trainer.model.rng import RngStream
from trainer.model.xtts import XTTS
from trainer.optim.adamw import AdamW
from trainer.training.gradnorm import MAX_RATIO, balance_weights
from trainer.training.train_step import TrainStep

WEIGHTS = {"mel": 1.0, "kl": 0.1, "stop": 0.5, "guided_attention": 5.0}
LENGTHS = {"mel": 3.0, "kl": 40.0, "stop": 0.2}


def balanced(weights: dict[str, float], lengths: dict[str, float]) -> dict[str, float]:
    """Return the adapted weights for gradients with these norms."""
    gradients = {name: [tf.constant([0.6, 0.0]) * size, tf.constant([[0.8]]) * size] for name, size in lengths.items()}
    found = balance_weights({name: tf.constant(weight) for name, weight in weights.items()}, gradients)
    assert bool(found.is_finite) == bool(np.isfinite(list(lengths.values())).all())
    return {name: float(weight) for name, weight in found.weights.items()}


def test_weighted_gradients_have_norms_in_the_ratios_of_the_weights_and_the_same_sum() -> None:
    found = balanced(WEIGHTS, LENGTHS)
    pulls = {name: found[name] * size for name, size in LENGTHS.items()}
    total = sum(WEIGHTS[name] * size for name, size in LENGTHS.items())
    assert sum(pulls.values()) == pytest.approx(total, rel=1e-5)
    for name, pull in pulls.items():
        assert pull / total == pytest.approx(WEIGHTS[name] / 1.6, rel=1e-5)
    assert found["guided_attention"] == 5.0


def test_terms_with_equal_gradient_norms_keep_their_weights() -> None:
    assert balanced(WEIGHTS, dict.fromkeys(LENGTHS, 7.0)) == pytest.approx(WEIGHTS, rel=1e-5)


def test_the_weight_of_a_term_with_a_tiny_gradient_is_limited() -> None:
    found = balanced({**WEIGHTS, "kl": 0.0}, {**LENGTHS, "stop": 0.0})
    assert found["kl"] == 0.0
    assert found["stop"] == pytest.approx(MAX_RATIO * 0.5)


def test_gradients_that_overflow_leave_the_configured_weights() -> None:
    """A NaN weight would make the loss NaN, and the loss scale would not be lowered."""
    assert balanced(WEIGHTS, {**LENGTHS, "kl": np.inf}) == pytest.approx(WEIGHTS, rel=1e-6)
    assert balanced(WEIGHTS, {**LENGTHS, "kl": np.nan}) == pytest.approx(WEIGHTS, rel=1e-6)


@pytest.mark.slow
def test_float16_that_overflows_costs_steps_until_every_term_is_weighed() -> None:
    """No step is made with the configured weights, even if only single terms overflow."""
    model = perturbed_narrow(precision="float16", reference_dropout=0.0)
    config = OptimizerConfig(learning_rate=1e-3, warmup_steps=0)
    optimizer = AdamW(config, steps=100, variables=model.trainable_variables, scales_loss=True)
    step = TrainStep(model, optimizer, losses=LossConfig(adaptive=True), seed=1, xla=False)
    batch = random_batch(frames=[24, 17, 9], token_counts=[10, 4, 7], width=24, tokens=10)
    assert optimizer.loss_scale
    lost = 0
    for power in np.arange(32.0, 0.0, -0.25):
        optimizer.loss_scale.factor.assign(2.0**power)
        values = {name: float(value) for name, value in step(batch).items() if name != "counts"}
        assert np.isfinite(values["loss"])
        assert values["skipped"] == 0.0
        if values["applied"]:
            break
        lost += 1
        assert optimizer.loss_scale.factor.numpy() == pytest.approx(2.0 ** (power - 1.0))
    assert values["applied"] == 1.0
    assert lost > 4
    assert abs(values["mel_weight"] - 1.0) > 0.01


def gradients(model: XTTS, name: str, *, adaptive: bool) -> tuple[np.ndarray, dict[str, float]]:
    """Return the gradient norms of one step on the last shared layer, and all metrics of the step."""
    given = random_batch(frames=[24, 17, 9], token_counts=[10, 4, 7], width=24, tokens=10)
    losses = LossConfig(adaptive=adaptive)
    with tf.GradientTape() as tape:
        noise = RngStream(seed=1, step=tf.constant(2))
        _, figures = teacher_force(model, given, losses=losses, step=tf.constant(0), noise=noise)
    found = tape.gradient(figures[name], [variable.value for variable in model.decoder.last_shared])
    return np.concatenate([np.ravel(one) for one in found]), {key: float(value) for key, value in figures.items()}


@pytest.mark.slow
def test_in_a_step_gradient_norms_have_the_ratios_of_the_weights(narrow_models: Callable[..., XTTS]) -> None:
    model, given = narrow_models(4), {"mel": 1.0, "kl": 0.1, "flux": 0.02, "stop": 0.5}
    of_loss, figures = gradients(model, "loss", adaptive=True)
    by_term = {name: gradients(model, name, adaptive=False)[0] for name in given}
    pulls = {name: figures[f"{name}_weight"] * np.linalg.norm(one) for name, one in by_term.items()}
    for name, pull in pulls.items():
        assert pull / sum(pulls.values()) == pytest.approx(given[name] / sum(given.values()), rel=1e-3)
    expected = sum(figures[f"{name}_weight"] * one for name, one in by_term.items())
    np.testing.assert_allclose(of_loss, expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())


@pytest.mark.slow
def test_unweighted_terms_are_logged_unchanged(narrow_models: Callable[..., XTTS]) -> None:
    model = narrow_models(4)
    (_, adapted), (_, plain) = (gradients(model, "loss", adaptive=adaptive) for adaptive in (True, False))
    for name in ("mel", "kl", "flux", "stop", "guided_attention"):
        assert adapted[name] == plain[name]
        assert f"{name}_weight" not in plain
