"""Axes of histograms: bins of a round width, ticks, and SVG coordinates in the units of the drawing's viewBox."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pipelines.html.numbers import format_number

MIN_BINS, MAX_BINS = 12, 40
# Values far beyond these percentiles are counted in the first or the last bin.
CORE_PERCENTILES = (0.5, 99.5)
# The axis is extended to show a threshold if that makes it at most this much longer.
MAX_STRETCH = 2.0


class ViewBox(NamedTuple):
    """Size and margins of a drawing."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int


VIEW_BOX = ViewBox(width=400, height=200, left=40, right=10, top=24, bottom=36)


class Bins(NamedTuple):
    """Bins between [n + 1] edges; the first and the last bin also count values beyond them."""

    edges: np.ndarray
    open_below: bool
    open_above: bool

    def counts(self, values: np.ndarray) -> np.ndarray:
        """The number of values in each bin, [n]; every value is counted."""
        last = len(self.edges) - 2
        bins = np.searchsorted(self.edges, values, side="right") - 1
        return np.bincount(np.clip(bins, 0, last), minlength=last + 1)

    def label(self, number: int) -> str:
        low, high = (format_number(edge, digits=6) for edge in self.edges[number : number + 2])
        if number == 0 and self.open_below:
            return f"below {high}"
        return f"{low} and more" if number == len(self.edges) - 2 and self.open_above else f"{low} to {high}"


class Tick(NamedTuple):
    position: float
    label: str


def choose_bins(values: np.ndarray, *, limits: Sequence[float] = (), integers: bool = False) -> Bins:
    """Choose bins of a round width that show nearly all values, and the limits that are near."""
    low, high = core = _view(values)
    for limit in limits:
        wider = min(low, limit), max(high, limit)
        if wider[1] - wider[0] <= MAX_STRETCH * (core[1] - core[0]):
            low, high = wider
    max_bins = int(np.clip(2 * math.sqrt(len(values)), MIN_BINS, MAX_BINS))
    step = round_step(max(core[1] - core[0], abs(high) * 1e-3, 1e-6), max_steps=max_bins)
    step = max(1.0, step) if integers else step
    first, last = math.floor(low / step), max(math.floor(high / step), math.floor(low / step)) + 1
    edges = np.round(np.arange(first, last + 1) * step, 9)
    return Bins(edges, bool(np.any(values < edges[0])), bool(np.any(values >= edges[-1])))


def _view(values: np.ndarray) -> tuple[float, float]:
    if len(values) == 0:
        return 0.0, 1.0
    low, high = np.percentile(values, CORE_PERCENTILES)
    reach = high - low
    return max(float(values.min()), low - reach), min(float(values.max()), high + reach)


def round_step(span: float, *, max_steps: int) -> float:
    """The smallest of … 0.1 0.2 0.5 1 2 5 … that divides the span into at most `max_steps` parts."""
    exponent = math.floor(math.log10(span / max_steps))
    steps = (base * 10.0**power for power in (exponent, exponent + 1) for base in (1, 2, 5))
    return next(step for step in steps if span / step <= max_steps * (1 + 1e-9))


def count_ticks(most: int) -> list[int]:
    """Ticks from 0 to at least `most`, in round steps."""
    step = int(max(1, round_step(max(most, 1), max_steps=4)))
    return list(range(0, -(-max(most, 1) // step) * step + 1, step))


class Axes:
    """Maps values to SVG coordinates.

    Args:
        y_max: the value at the top of the y axis.
        top: the y coordinate of `y_max`.
    """

    def __init__(self, bins: Bins, *, y_max: float, top: float = VIEW_BOX.top):
        self.bins, self._y_max, self._top = bins, y_max, top
        self.low, self.high = float(bins.edges[0]), float(bins.edges[-1])

    def x(self, value: float) -> float:
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return round(VIEW_BOX.left + share * (VIEW_BOX.width - VIEW_BOX.left - VIEW_BOX.right), 2)

    def y(self, value: float) -> float:
        return round(
            VIEW_BOX.height - VIEW_BOX.bottom - value / self._y_max * (VIEW_BOX.height - VIEW_BOX.bottom - self._top), 2
        )

    def x_ticks(self) -> list[Tick]:
        step = round_step(self.high - self.low, max_steps=7)
        values = np.arange(math.ceil(self.low / step), math.floor(self.high / step + 1e-9) + 1) * step
        return [Tick(self.x(value), format_number(round(value, 9), digits=6)) for value in values.tolist()]
