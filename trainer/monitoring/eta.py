"""Time left of a run, from the speed of its steps and validations so far, without compilation."""

from __future__ import annotations

from collections import deque
from datetime import timedelta
from typing import NamedTuple

SPEED_OVER_S = 600.0  # the speed is the mean over the last seconds of training


class Eta(NamedTuple):
    """The time left of a run."""

    seconds: float
    has_all: bool  # False if validations are to come and none was timed yet

    def __str__(self) -> str:
        return f"{timedelta(seconds=round(self.seconds))} left{'' if self.has_all else ' without validations'}"


class EtaEstimator:
    """Estimates the time left of a run from its timed steps and validations."""

    def __init__(self, *, steps: int, validate_every: int):
        self._steps, self._validate_every = steps, validate_every
        self._windows: deque[tuple[int, float]] = deque()  # steps, seconds of training
        self._validation_s: float | None = None

    def add_steps(self, count: int, *, per_second: float) -> None:
        """Add the speed of some steps, without compilation and waits for the disk."""
        self._windows.append((count, count / per_second))
        while sum(seconds for _, seconds in self._windows) - self._windows[0][1] >= SPEED_OVER_S:
            self._windows.popleft()

    def add_validation(self, seconds: float) -> None:
        """Add the time of a validation in which nothing was compiled."""
        self._validation_s = seconds

    def estimate(self, step: int) -> Eta | None:
        """The time left after this step; None if no step was timed yet."""
        if not self._windows:
            return None
        steps, seconds = map(sum, zip(*self._windows, strict=True))
        validations = (
            -(-self._steps // self._validate_every) - step // self._validate_every if step < self._steps else 0
        )
        training_s = (self._steps - step) * seconds / steps
        if self._validation_s is None:
            return Eta(training_s, has_all=validations == 0)
        return Eta(training_s + validations * self._validation_s, has_all=True)
