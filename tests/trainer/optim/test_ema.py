"""The moving average of the weights, against numpy."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from trainer.config.optim_config import OptimizerConfig
from trainer.optim.adamw import AdamW

SHAPES = [(3, 4), (4,)]
DECAY = 0.8


@pytest.fixture
def variables() -> list[keras.Variable]:
    random = np.random.default_rng(1)
    return [keras.Variable(random.normal(size=shape).astype(np.float32), name=f"w{len(shape)}") for shape in SHAPES]


def optimizer_of(variables: list[keras.Variable]) -> AdamW:
    return AdamW(OptimizerConfig(ema_decay=DECAY, learning_rate=0.1, warmup_steps=0), steps=100, variables=variables)


def update(optimizer: AdamW, *, seed: int) -> None:
    random = np.random.default_rng(seed)
    optimizer.apply([tf.constant(random.normal(size=shape), tf.float32) for shape in SHAPES], loss=tf.constant(1.0))


@pytest.mark.slow
def test_the_average_is_young_at_first_and_has_its_decay_later(variables: list[keras.Variable]) -> None:
    optimizer = optimizer_of(variables)
    expected = [variable.numpy().astype(np.float64) for variable in variables]
    for number in range(1, 60):
        update(optimizer, seed=number)
        decay = min(DECAY, (1 + number) / (10 + number))
        expected = [decay * mean + (1 - decay) * one.numpy() for mean, one in zip(expected, variables, strict=True)]
    for variable, mean in zip(variables, expected, strict=True):
        average = optimizer.state()[f"{variable.path}/average"]
        np.testing.assert_allclose(average.numpy(), mean, rtol=1e-4, atol=1e-5)
        assert np.abs(average.numpy() - variable.numpy()).max() > 0.01


@pytest.mark.parametrize("fails", [False, True])
def test_weights_are_the_average_within_and_themselves_again_afterwards(
    variables: list[keras.Variable], fails: bool
) -> None:
    optimizer = optimizer_of(variables)
    for seed in range(5):
        update(optimizer, seed=seed)
    before = {name: one.numpy() for name, one in optimizer.state().items()}
    weights = [variable.numpy() for variable in variables]
    try:
        with optimizer.averaged():
            for variable in variables:
                np.testing.assert_array_equal(variable.numpy(), before[f"{variable.path}/average"])
            if fails:
                raise ValueError("as validation may")
    except ValueError:
        assert fails
    for variable, weight in zip(variables, weights, strict=True):
        np.testing.assert_array_equal(variable.numpy(), weight)
    for name, one in optimizer.state().items():
        np.testing.assert_array_equal(one.numpy(), before[name])


def test_without_an_average_the_weights_are_used_as_they_are(variables: list[keras.Variable]) -> None:
    optimizer = AdamW(OptimizerConfig(), steps=100, variables=variables)
    weights = [variable.numpy() for variable in variables]
    assert not [name for name in optimizer.state() if name.endswith("average")]
    with optimizer.averaged():
        for variable, weight in zip(variables, weights, strict=True):
            np.testing.assert_array_equal(variable.numpy(), weight)


@pytest.mark.parametrize("place", range(2 * len(SHAPES)))
def test_an_exchange_that_fails_leaves_weights_and_averages_as_they_were(
    variables: list[keras.Variable], place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    optimizer = optimizer_of(variables)
    for seed in range(5):
        update(optimizer, seed=seed)
    everything = [*variables, *optimizer.state().values()]
    before, calls, assign = [one.numpy() for one in everything], iter(range(1000)), keras.Variable.assign

    def fail(variable: keras.Variable, value: object) -> object:
        if next(calls) == place:
            raise tf.errors.ResourceExhaustedError(None, None, "out of memory")
        return assign(variable, value)

    monkeypatch.setattr(keras.Variable, "assign", fail)
    with pytest.raises(tf.errors.ResourceExhaustedError), optimizer.averaged():
        raise AssertionError("not exchanged")
    for variable, value in zip(everything, before, strict=True):
        np.testing.assert_array_equal(variable.numpy(), value)
