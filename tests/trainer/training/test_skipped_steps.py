"""A step with a non-finite loss or gradient changes no variable, and is counted."""

from __future__ import annotations

from collections.abc import Callable

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.trainer.models import disturbable, random_batch
from trainer.config.loss_config import LossConfig
from trainer.config.optim_config import OptimizerConfig
from trainer.model.xtts import XTTS
from trainer.optim.adamw import AdamW
from trainer.training import skipped_steps
from trainer.training.skipped_steps import SkippedStepTracker
from trainer.training.train_step import TrainStep

CONFIG = OptimizerConfig(learning_rate=0.01, warmup_steps=0, ema_decay=0.9)
SHAPES = [(3, 4), (4,)]
COUNTERS = ("iterations", "skipped", "skipped_in_row")


def optimizer_of(seed: int = 1) -> tuple[AdamW, list[keras.Variable]]:
    random = np.random.default_rng(seed)
    variables = [keras.Variable(random.normal(size=shape).astype(np.float32)) for shape in SHAPES]
    return AdamW(CONFIG, steps=1_000_000, variables=variables), variables


def gradients(seed: int) -> list[tf.Tensor]:
    random = np.random.default_rng(seed)
    return [tf.constant(random.normal(size=shape), tf.float32) for shape in SHAPES]


def spoiled(by: float) -> list[tf.Tensor]:
    first, *others = gradients(1)
    return [tf.where(tf.reshape(tf.range(12) == 5, (3, 4)), by, first), *others]


def contents(optimizer: AdamW, variables: list[keras.Variable]) -> dict[str, bytes]:
    named = {**optimizer.state(), **{f"weight {number}": one for number, one in enumerate(variables)}}
    return {name: one.numpy().tobytes() for name, one in named.items() if name not in COUNTERS}


def counters(optimizer: AdamW) -> list[int]:
    return [int(optimizer.state()[name].value) for name in COUNTERS]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("found", "loss"),
    [
        (spoiled(np.nan), 1.0),
        (spoiled(np.inf), 1.0),
        (spoiled(3e38), 1.0),  # its square is no number: the norm cannot be clipped to
        (gradients(1), np.nan),
        (gradients(1), -np.inf),
    ],
    ids=["nan", "inf", "overflow", "loss nan", "loss -inf"],
)
def test_a_skipped_step_leaves_weights_moments_and_averages_bit_for_bit_as_they_were(found: list, loss: float) -> None:
    optimizer, variables = optimizer_of()
    apply = tf.function(optimizer.apply, jit_compile=True)
    assert float(apply(gradients(0), loss=tf.constant(1.0))["applied"]) == 1.0
    before = contents(optimizer, variables)
    assert float(apply(found, loss=tf.constant(loss, tf.float32))["applied"]) == 0.0
    assert contents(optimizer, variables) == before
    assert counters(optimizer) == [2, 1, 1]


def test_skipped_steps_are_counted_in_total_and_consecutively() -> None:
    optimizer, _ = optimizer_of()
    seen = []
    for is_good in (True, False, False, True, False):
        optimizer.apply(gradients(1) if is_good else spoiled(np.nan), loss=tf.constant(1.0))
        seen.append(counters(optimizer))
    assert seen == [[1, 0, 0], [2, 1, 1], [3, 2, 2], [4, 2, 0], [5, 3, 1]]


def test_updates_around_skipped_steps_are_those_that_would_have_been_without_them() -> None:
    """At a constant learning rate a skipped step has no effect on later ones."""
    (disturbed, weights), (quiet, expected) = optimizer_of(), optimizer_of()
    for seed in range(6):
        disturbed.apply(spoiled(np.nan), loss=tf.constant(1.0))
        for one in (disturbed, quiet):
            one.apply(gradients(seed), loss=tf.constant(1.0))
    for weight, other in zip(weights, expected, strict=True):
        np.testing.assert_allclose(weight.numpy(), other.numpy(), rtol=1e-6)


def test_the_rate_is_scaled_from_now_on_and_the_scale_is_saved_state() -> None:
    optimizer, _ = optimizer_of()
    apply = tf.function(optimizer.apply, jit_compile=True)
    rates = [float(apply(gradients(1), loss=tf.constant(1.0))["learning_rate"])]
    for factor in (0.5, 0.5, 4.0):
        optimizer.scale_rate(factor)
        rates.append(float(apply(gradients(1), loss=tf.constant(1.0))["learning_rate"]))
    np.testing.assert_allclose(rates, 0.01 * np.array([1.0, 0.5, 0.25, 1.0]), rtol=1e-5)
    assert float(optimizer.state()["rate_scale"].value) == 1.0


@pytest.mark.slow
def test_a_batch_with_a_nan_is_skipped_inside_the_compiled_step(narrow_models: Callable[..., XTTS]) -> None:
    batch = random_batch(frames=[24, 17], token_counts=[10, 4], width=24, tokens=10)
    with disturbable(narrow_models(4)) as model:
        optimizer = AdamW(CONFIG, steps=100, variables=model.trainable_variables)
        step = TrainStep(model, optimizer, losses=LossConfig(), seed=1)
        assert float(step(batch)["applied"]) == 1.0
        before = contents(optimizer, model.variables)
        mel = batch["mel"].numpy()
        mel[1, 3, 2] = np.nan
        values = step({**batch, "mel": tf.constant(mel)})
        assert float(values["applied"]) == 0.0
        assert np.isnan(float(values["loss"]))
        assert contents(optimizer, model.variables) == before
        assert float(step(batch)["applied"]) == 1.0
        assert contents(optimizer, model.variables) != before
        assert counters(optimizer) == [3, 1, 0]
        assert step.programs == 1


def test_metrics_are_read_before_too_many_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skipped_steps, "MAX_UNREAD", 2)
    steps, found = SkippedStepTracker(consecutive=0), []
    for step in range(1, 6):
        steps.record(step, dict.fromkeys(("skipped", "loss", "gradient_norm"), tf.zeros([])), rows=(tf.constant([0]),))
        found.append(steps.is_full)
        if steps.is_full:
            steps.collect()
    assert found == [False, True, False, True, False]


def test_exactly_the_skipped_steps_are_returned() -> None:
    steps = SkippedStepTracker(consecutive=0)
    for step, skipped in enumerate([0.0, 1.0, 0.0, 1.0, 1.0], 1):
        figures = {"skipped": skipped, "loss": float("nan") if skipped else 0.5, "gradient_norm": 1.0}
        values = {name: tf.constant(value, tf.float32) for name, value in figures.items()}
        steps.record(step, values, rows=(tf.constant([step]),))
    found = steps.collect()
    assert [(one.step, one.rows.tolist()) for one in found] == [(2, [2]), (4, [4]), (5, [5])]
    assert np.isnan([one.loss for one in found]).all()
    assert steps.consecutive == 2
