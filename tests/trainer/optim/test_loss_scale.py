"""Loss scaling for float16: it changes no update, gives way to overflows, and grows again."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from trainer.config.optim_config import OptimizerConfig
from trainer.optim.adamw import AdamW
from trainer.optim.loss_scale import INITIAL, MAX_SCALE, UPDATES_TO_GROWTH, LossScale

LARGEST = 65_504.0  # float16's


def optimizer_of(*, scales_loss: bool) -> tuple[AdamW, keras.Variable]:
    variable = keras.Variable(np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3), name="w")
    config = OptimizerConfig(learning_rate=0.01, warmup_steps=0, clip_norm=0.5)
    return AdamW(config, steps=1_000_000, variables=[variable], scales_loss=scales_loss), variable


def stepping(optimizer: AdamW, variable: keras.Variable, *, half: bool):
    """A compiled step whose loss is `size` times the variable's sum of squares; gradients pass through float16."""

    @tf.function(jit_compile=True)
    def step(size: tf.Tensor) -> dict[str, tf.Tensor]:
        with tf.GradientTape() as tape:
            loss = size * tf.reduce_sum(tf.square(variable.value))
            scaled = optimizer.scale_loss(loss)
        gradient = tape.gradient(scaled, variable.value)
        gradient = tf.cast(tf.cast(gradient, tf.float16), tf.float32) if half else gradient
        return optimizer.apply([gradient], loss=loss)

    return lambda size: {name: float(value) for name, value in step(tf.constant(size)).items()}


@pytest.mark.slow
def test_scaled_updates_are_those_without_scaling() -> None:
    (ours, weight), (plain, wanted) = optimizer_of(scales_loss=True), optimizer_of(scales_loss=False)
    scaled, unscaled = stepping(ours, weight, half=False), stepping(plain, wanted, half=False)
    for size in (1.0, 1e-3, 0.2):
        found, expected = scaled(size), unscaled(size)
        assert found["loss_scale"] == INITIAL
        np.testing.assert_allclose(found["gradient_norm"], expected["gradient_norm"], rtol=1e-6)
    np.testing.assert_allclose(weight.numpy(), wanted.numpy(), rtol=1e-6)


@pytest.mark.slow
def test_gradients_too_small_for_float16_get_through() -> None:
    for scales_loss, is_there in ((False, False), (True, True)):
        optimizer, weight = optimizer_of(scales_loss=scales_loss)
        found = stepping(optimizer, weight, half=True)(1e-9)
        assert (found["gradient_norm"] > 0) == is_there


def test_an_overflow_costs_its_step_and_halves_the_scale_until_gradients_fit() -> None:
    optimizer, weight = optimizer_of(scales_loss=True)
    step, before = stepping(optimizer, weight, half=True), weight.numpy()
    size = 20.0 * LARGEST / INITIAL  # of gradients up to 40 times too large: six halvings
    found = [step(size) for _ in range(7)]
    assert [one["applied"] for one in found] == [0, 0, 0, 0, 0, 0, 1]
    assert [one["loss_scale"] for one in found] == [INITIAL / 2**number for number in range(7)]
    assert [one["skipped"] for one in found] == [0] * 7  # the loss is sound: no reason to go back
    assert not np.array_equal(weight.numpy(), before)
    state = optimizer.state()
    assert [int(state[name].value) for name in ("iterations", "updates", "skipped")] == [7, 1, 0]


def test_an_overflow_at_the_least_scale_is_a_skipped_step() -> None:
    optimizer, weight = optimizer_of(scales_loss=True)
    optimizer.state()["loss_scale"].assign(1.0)
    found = stepping(optimizer, weight, half=True)(LARGEST)
    assert (found["applied"], found["skipped"], found["loss_scale"]) == (0.0, 1.0, 1.0)
    assert int(optimizer.state()["skipped_in_row"].value) == 1


def test_a_loss_that_is_no_number_is_a_skipped_step_at_any_scale() -> None:
    optimizer, weight = optimizer_of(scales_loss=True)
    step = stepping(optimizer, weight, half=True)
    for size in (np.nan, np.inf, np.nan):
        found = step(size)
        assert (found["applied"], found["skipped"]) == (0.0, 1.0)
    assert step(1.0)["loss_scale"] == INITIAL  # which was not the reason


@pytest.mark.slow
def test_a_loss_that_is_no_number_does_not_put_the_growth_of_the_scale_off() -> None:
    scale = LossScale()
    adapt = tf.function(scale.update)
    for number in range(UPDATES_TO_GROWTH + 1):
        is_number = tf.constant(number != 7)
        adapt(is_number, is_loss_finite=is_number)
    assert float(scale.factor.value) == 2 * INITIAL


@pytest.mark.slow
def test_a_new_scale_doubles_after_so_many_updates_and_not_earlier() -> None:
    scale = LossScale()
    adapt = tf.function(scale.update)
    factors = []
    for _ in range(UPDATES_TO_GROWTH):
        adapt(tf.constant(True), is_loss_finite=tf.constant(True))
        factors.append(float(scale.factor.value))
    assert factors == [INITIAL] * (UPDATES_TO_GROWTH - 1) + [2 * INITIAL]


@pytest.mark.slow
def test_the_scale_doubles_after_so_many_updates_in_a_row_and_stays_bounded() -> None:
    scale = LossScale()
    adapt = tf.function(scale.update)
    seen = []
    for number in range(3 * UPDATES_TO_GROWTH):
        adapt(tf.constant(number != 10), is_loss_finite=tf.constant(True))
        seen.append(float(scale.factor.value))
    assert seen[9:12] == [INITIAL, INITIAL / 2, INITIAL / 2]
    grown = np.flatnonzero(np.diff(seen) > 0) + 1
    assert grown.tolist() == [10 + UPDATES_TO_GROWTH, 10 + 2 * UPDATES_TO_GROWTH]
    scale.factor.assign(MAX_SCALE)
    for _ in range(UPDATES_TO_GROWTH):
        adapt(tf.constant(True), is_loss_finite=tf.constant(True))
    assert float(scale.factor.value) == MAX_SCALE
