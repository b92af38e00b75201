"""Histograms as geometry: what the template draws, in the units of its viewBox.

y ┤  ▄█▄ ┆      kept below, withheld on top of it
  ┤▂█████┆▂     ┆ a threshold
  └──────── x
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pipelines.html.axes import VIEW_BOX, Axes, Bins, Tick, count_ticks
from pipelines.html.numbers import format_number
from preprocess.checks import BOUNDS

BAND_HEIGHT, BAND_LABEL = 20, 150


class Threshold(NamedTuple):
    """A threshold."""

    name: str  # the field of the config
    value: float
    is_lower: bool


class AllowedRange(NamedTuple):
    """What a source allows."""

    name: str
    low: float
    high: float


class Bar(NamedTuple):
    label: str
    kept: int
    withheld: int
    x: float
    width: float
    kept_y: float
    withheld_y: float


class ThresholdLine(NamedTuple):
    """A threshold; one outside the drawing is an arrow at its edge."""

    name: str
    label: str
    x: float
    is_lower: bool
    is_outside: bool


class Range(NamedTuple):
    """A band: a line above the bars; an end outside the drawing has no mark."""

    label: str
    x: float
    stop: float
    y: float
    has_start: bool
    has_stop: bool

    @property
    def middle(self) -> float:
        """Of its label, which stays within the drawing."""
        reach = BAND_LABEL / 2
        return min(max((self.x + self.stop) / 2, VIEW_BOX.left + reach), VIEW_BOX.width - VIEW_BOX.right - reach)


class Histogram(NamedTuple):
    """A drawing, and the numbers in it."""

    title: str
    unit: str
    column: str
    kept: int
    withheld: int
    quantiles: tuple[float, float, float] | None  # 5 %, 50 %, 95 % of what is kept
    bars: list[Bar]
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    lines: list[ThresholdLine]
    ranges: list[Range]
    top: float

    @property
    def base(self) -> float:
        return VIEW_BOX.height - VIEW_BOX.bottom


def draw(
    kept: np.ndarray,
    *,
    withheld: np.ndarray,
    bins: Bins,
    title: str,
    unit: str,
    column: str,
    limits: Sequence[Threshold] = (),
    bands: Sequence[AllowedRange] = (),
) -> Histogram:
    """The histogram of the kept values, with the withheld ones on top of them."""
    counts, aside = bins.counts(kept), bins.counts(withheld)
    y_ticks = count_ticks(int((counts + aside).max()))
    top = VIEW_BOX.top + BAND_HEIGHT * max(0, len(bands) - 1)
    axis = _HistogramAxes(bins, most=float(y_ticks[-1]), top=top)
    return Histogram(
        title=title,
        unit=unit,
        column=column,
        kept=len(kept),
        withheld=len(withheld),
        quantiles=_quantiles(kept),
        bars=[axis.bar(i, kept=int(counts[i]), withheld=int(aside[i])) for i in range(len(counts))],
        x_ticks=axis.x_ticks(),
        y_ticks=[Tick(axis.y(count), f"{count:,}") for count in y_ticks],
        lines=[axis.line(limit) for limit in limits],
        ranges=[axis.range(band, y=VIEW_BOX.top - 12 + BAND_HEIGHT * number) for number, band in enumerate(bands)],
        top=top,
    )


def _quantiles(values: np.ndarray) -> tuple[float, float, float] | None:
    return tuple(np.percentile(values, (5, 50, 95)).tolist()) if len(values) else None


class _HistogramAxes(Axes):
    """Places of what stands on it."""

    def bar(self, number: int, *, kept: int, withheld: int) -> Bar:
        x, stop = (self.x(edge) for edge in self.bins.edges[number : number + 2])
        gap = 1.0 if stop - x > 4 else 0.4
        return Bar(
            label=self.bins.label(number),
            kept=kept,
            withheld=withheld,
            x=x,
            width=round(stop - x - gap, 2),
            kept_y=self.y(kept),
            withheld_y=self.y(kept + withheld),
        )

    def line(self, limit: Threshold) -> ThresholdLine:
        is_outside = not self.low <= limit.value <= self.high
        sign = "≥" if limit.is_lower else "≤"
        label = f"{sign} {format_number(limit.value, digits=6)}"
        return ThresholdLine(limit.name, label, self.x(limit.value), limit.is_lower, is_outside)

    def range(self, band: AllowedRange, *, y: float) -> Range:
        return Range(
            label=f"{band.name} {format_number(band.low)} to {format_number(band.high)}",
            x=self.x(band.low),
            stop=self.x(band.high),
            y=y,
            has_start=self.low <= band.low,
            has_stop=band.high <= self.high,
        )


def thresholds_of(column: str, *, checks: Mapping[str, float | int | bool | None]) -> list[Threshold]:
    """The thresholds on a column that were set."""
    found = [(bound.threshold, checks.get(bound.threshold)) for bound in BOUNDS if bound.column == column]
    return [Threshold(name, float(value), name.startswith("min_")) for name, value in found if value is not None]
