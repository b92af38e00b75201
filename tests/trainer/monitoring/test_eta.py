"""The time left of runs with given step times."""

from __future__ import annotations

from trainer.monitoring.eta import SPEED_OVER_S, EtaEstimator


def test_validations_that_were_not_timed_are_left_out() -> None:
    pace = EtaEstimator(steps=100, validate_every=40)
    assert pace.estimate(0) is None
    pace.add_steps(10, per_second=2.0)
    assert str(pace.estimate(10)) == "0:00:45 left without validations"


def test_validations_to_come_count_once_one_was_timed() -> None:
    pace = EtaEstimator(steps=100, validate_every=40)
    pace.add_steps(40, per_second=2.0)
    pace.add_validation(600.0)
    # 60 steps, and validations after steps 80 and 100: the last step always has one
    assert str(pace.estimate(40)) == "0:20:30 left"
    pace.add_steps(60, per_second=2.0)
    assert str(pace.estimate(100)) == "0:00:00 left"


def test_the_last_step_is_validated_once() -> None:
    pace = EtaEstimator(steps=80, validate_every=40)
    pace.add_steps(40, per_second=1.0)
    pace.add_validation(100.0)
    assert str(pace.estimate(79)) == "0:01:41 left"


def test_the_speed_is_that_of_the_last_minutes() -> None:
    pace = EtaEstimator(steps=1_000_000, validate_every=1_000_000)
    pace.add_steps(10_000, per_second=1.0)
    for _ in range(int(SPEED_OVER_S)):
        pace.add_steps(10, per_second=10.0)
    pace.add_validation(0.0)
    left = pace.estimate(100_000)
    assert left is not None
    assert left.seconds == 90_000.0
