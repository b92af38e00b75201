"""Random numbers that repeat where they must and nowhere else."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import tensorflow as tf

from trainer.model.rng import RngFork, RngStream

N = 50_000


def draws(*, seed: int, step: int) -> list[np.ndarray]:
    noise = RngStream(seed=seed, step=tf.constant(step, tf.int64))
    return [noise.normal([N]).numpy() for _ in range(2)]


@tf.function(jit_compile=True)
def compiled_draws(seed: tf.Tensor, step: tf.Tensor) -> list[tf.Tensor]:
    noise = RngStream(seed=seed, step=step)
    return [noise.normal([N]) for _ in range(2)]


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [False, True])
def test_draws_of_other_number_step_or_seed_are_uncorrelated(compiled: bool) -> None:
    places = list(itertools.product((0, 1, 2, 2**31 - 1), (0, 1, 2, 200_000)))
    found = [
        np.asarray(draw)
        for seed, step in places
        for draw in (
            compiled_draws(tf.constant(seed, tf.int64), tf.constant(step, tf.int64))
            if compiled
            else draws(seed=seed, step=step)
        )
    ]
    for first, second in itertools.combinations(found, 2):
        assert abs(np.corrcoef(first, second)[0, 1]) < 6 / np.sqrt(N)


def test_normal_draws_are_standard_normal() -> None:
    drawn, _ = draws(seed=1, step=1)
    assert abs(drawn.mean()) < 5 / np.sqrt(N)
    assert drawn.std() == pytest.approx(1.0, abs=0.02)
    assert np.mean(np.abs(drawn) < 1) == pytest.approx(0.6827, abs=0.01)


def test_draws_of_other_places_are_uncorrelated() -> None:
    places = list(itertools.product((0, 1, 200_000), (0, 1, 2, 63)))
    found = [RngStream(seed=1, step=tf.constant(step), place=place).normal([N]).numpy() for step, place in places]
    for first, second in itertools.combinations(found, 2):
        assert abs(np.corrcoef(first, second)[0, 1]) < 6 / np.sqrt(N)


def test_a_branch_draws_the_same_each_time_it_begins_and_what_nobody_draws_after_it() -> None:
    noise = RngStream(seed=1, step=tf.constant(2))
    branch, other = RngFork(noise), RngFork(noise)
    first, again, beside = (one.begin() for one in (branch, branch, other))
    after = noise.normal([8]).numpy()
    one, two = ([draw.normal([8]).numpy() for _ in range(3)] for draw in (first, again))
    np.testing.assert_array_equal(one, two)
    others = [*one, *(beside.normal([8]).numpy() for _ in range(3)), after]
    assert len({values.tobytes() for values in others}) == len(others)
    assert RngFork(None).begin() is None


def three(step: tf.Tensor) -> list[tf.Tensor]:
    noise = RngStream(seed=3, step=step)
    return [noise.normal([1000]), noise.uniform([1000]), noise.dropout(tf.ones([1000]), rate=0.3)]


def test_a_graph_draws_what_eager_execution_draws() -> None:
    step = tf.constant(5, tf.int64)
    for one, other in zip(three(step), tf.function(three)(step), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
def test_two_compiled_programs_draw_the_same_numbers() -> None:
    """Not those of eager execution: XLA makes another key of a seed that it does not know when it compiles."""

    def shifted(step: tf.Tensor) -> list[tf.Tensor]:
        return [value + 1.0 for value in three(step - 1)]

    step = tf.constant(5, tf.int64)
    plain, other = tf.function(three, jit_compile=True)(step), tf.function(shifted, jit_compile=True)(step + 1)
    for one, two in zip(plain, other, strict=True):
        np.testing.assert_allclose(one, two - 1.0, atol=1e-6)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_dropout_drops_its_share_and_keeps_the_mean(rate: float, dtype: str) -> None:
    values = tf.ones([N], dtype)
    dropped = tf.cast(RngStream(seed=1, step=tf.constant(1)).dropout(values, rate=rate), tf.float32).numpy()
    assert np.mean(dropped == 0) == pytest.approx(rate, abs=0.01)
    assert np.unique(dropped[dropped != 0]) == pytest.approx([1 / (1 - rate)], rel=1e-2)
    assert dropped.mean() == pytest.approx(1.0, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [[1], [3, 5, 7], [4, 5]])
def test_dropout_of_an_odd_number_of_values_draws_for_each(shape: list[int]) -> None:
    drawn = [RngStream(seed=1, step=tf.constant(step)).dropout(tf.ones(shape), rate=0.5).numpy() for step in range(100)]
    np.testing.assert_allclose(np.mean(drawn, 0), 1.0, atol=0.6)


def test_neighbours_are_dropped_independently() -> None:
    dropped = RngStream(seed=1, step=tf.constant(1)).dropout(tf.ones([N]), rate=0.3).numpy() == 0
    assert abs(np.corrcoef(dropped[::2], dropped[1::2])[0, 1]) < 6 / np.sqrt(N / 2)


def test_no_dropout_is_the_same_values() -> None:
    values = tf.random.stateless_normal([10], [1, 2])
    np.testing.assert_array_equal(RngStream(seed=1, step=tf.constant(1)).dropout(values, rate=0.0), values)
