"""Means of metrics since the last log line, of values that can be worked out by hand."""

from __future__ import annotations

import math

import pytest
import tensorflow as tf

from trainer.monitoring.interval_means import IntervalMeans


def recorded(*steps: dict[str, float]) -> IntervalMeans:
    means = IntervalMeans()
    for step, values in enumerate(steps, 1):
        means.record(step, {name: tf.constant(value) for name, value in values.items()})
    return means


def test_losses_are_means_since_the_last_time_and_rates_are_the_last() -> None:
    means = recorded({"loss": 1.0, "learning_rate": 0.1}, {"loss": 2.0, "learning_rate": 0.3})
    assert means.take() == pytest.approx({"loss": 1.5, "learning_rate": 0.3})
    means.record(3, {"loss": tf.constant(7.0), "learning_rate": tf.constant(0.5)})
    assert means.take() == pytest.approx({"loss": 7.0, "learning_rate": 0.5})


def test_a_step_that_is_not_finite_is_counted_and_is_in_no_mean() -> None:
    good, bad = {"loss": 1.0, "gradient_norm": 2.0, "skipped": 0.0}, {"loss": 9.0, "skipped": 1.0}
    for broken in (math.nan, math.inf):
        means = recorded(good, {**bad, "gradient_norm": broken}, good, good)
        assert means.take() == pytest.approx({"loss": 1.0, "gradient_norm": 2.0, "skipped": 0.25})


def test_where_no_step_is_finite_the_last_one_is_told() -> None:
    found = recorded({"loss": math.nan, "skipped": 1.0}, {"loss": math.inf, "skipped": 1.0}).take()
    assert found == {"loss": math.inf, "skipped": 1.0}


def test_steps_that_are_trained_again_are_forgotten() -> None:
    means = recorded({"loss": 3.0}, {"loss": 5.0})
    means.drop_after(1)
    means.record(2, {"loss": tf.constant(1.0)})
    assert means.take() == {"loss": 2.0}
    means.record(3, {"loss": tf.constant(4.0)})
    means.drop_after(3)
    assert means.take() == {"loss": 4.0}
