"""Histograms as SVG coordinates, in the units of the drawing's viewBox.

y ┤  ▄█▄ ┆      kept records below, filtered records on top
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

RANGE_HEIGHT, RANGE_LABEL_WIDTH = 20, 150


class Threshold(NamedTuple):
    """A threshold of the build."""

    name: str  # the field of the config
    value: float
    is_lower: bool


class AllowedRange(NamedTuple):
    """The values that one source allows."""

    name: str
    low: float
    high: float


class Bar(NamedTuple):
    """One bin: its counts, and the tops of its two parts."""

    label: str
    kept: int
    filtered: int
    x: float
    width: float
    kept_y: float
    filtered_y: float


class ThresholdLine(NamedTuple):
    """A threshold as a vertical line; one outside the axis is drawn as an arrow at the edge."""

    name: str
    label: str
    x: float
    is_lower: bool
    is_outside: bool


class Range(NamedTuple):
    """An allowed range as a line above the bars; an end outside the axis has no end mark."""

    label: str
    x: float
    stop: float
    y: float
    has_start: bool
    has_stop: bool

    @property
    def middle(self) -> float:
        """The centre of the label, which stays within the drawing."""
        reach = RANGE_LABEL_WIDTH / 2
        return min(max((self.x + self.stop) / 2, VIEW_BOX.left + reach), VIEW_BOX.width - VIEW_BOX.right - reach)


class Histogram(NamedTuple):
    """A drawing, with the numbers that it shows."""

    title: str
    unit: str
    column: str
    kept: int
    filtered: int
    quantiles: tuple[float, float, float] | None  # 5 %, 50 %, 95 % of the kept records
    bars: list[Bar]
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    thresholds: list[ThresholdLine]
    ranges: list[Range]
    top: float

    @property
    def base(self) -> float:
        return VIEW_BOX.height - VIEW_BOX.bottom


def draw_histogram(
    kept: np.ndarray,
    filtered: np.ndarray,
    *,
    bins: Bins,
    title: str,
    unit: str,
    column: str,
    thresholds: Sequence[Threshold] = (),
    ranges: Sequence[AllowedRange] = (),
) -> Histogram:
    """Draw the kept values, with the filtered values stacked on top."""
    kept_counts, filtered_counts = bins.counts(kept), bins.counts(filtered)
    y_ticks = count_ticks(int((kept_counts + filtered_counts).max()))
    top = VIEW_BOX.top + RANGE_HEIGHT * max(0, len(ranges) - 1)
    axes = _HistogramAxes(bins, y_max=float(y_ticks[-1]), top=top)
    return Histogram(
        title=title,
        unit=unit,
        column=column,
        kept=len(kept),
        filtered=len(filtered),
        quantiles=_quantiles(kept),
        bars=[
            axes.bar(number, kept=int(below), filtered=int(above))
            for number, (below, above) in enumerate(zip(kept_counts, filtered_counts, strict=True))
        ],
        x_ticks=axes.x_ticks(),
        y_ticks=[Tick(axes.y(count), f"{count:,}") for count in y_ticks],
        thresholds=[axes.threshold(threshold) for threshold in thresholds],
        ranges=[axes.range(one, y=VIEW_BOX.top - 12 + RANGE_HEIGHT * number) for number, one in enumerate(ranges)],
        top=top,
    )


def _quantiles(values: np.ndarray) -> tuple[float, float, float] | None:
    return tuple(np.percentile(values, (5, 50, 95)).tolist()) if len(values) else None


class _HistogramAxes(Axes):
    """Coordinates of bars, thresholds and ranges."""

    def bar(self, number: int, *, kept: int, filtered: int) -> Bar:
        x, stop = (self.x(edge) for edge in self.bins.edges[number : number + 2])
        gap = 1.0 if stop - x > 4 else 0.4
        return Bar(
            label=self.bins.label(number),
            kept=kept,
            filtered=filtered,
            x=x,
            width=round(stop - x - gap, 2),
            kept_y=self.y(kept),
            filtered_y=self.y(kept + filtered),
        )

    def threshold(self, threshold: Threshold) -> ThresholdLine:
        is_outside = not self.low <= threshold.value <= self.high
        sign = "≥" if threshold.is_lower else "≤"
        label = f"{sign} {format_number(threshold.value, digits=6)}"
        return ThresholdLine(threshold.name, label, self.x(threshold.value), threshold.is_lower, is_outside)

    def range(self, allowed: AllowedRange, *, y: float) -> Range:
        return Range(
            label=f"{allowed.name} {format_number(allowed.low)} to {format_number(allowed.high)}",
            x=self.x(allowed.low),
            stop=self.x(allowed.high),
            y=y,
            has_start=self.low <= allowed.low,
            has_stop=allowed.high <= self.high,
        )


def thresholds_of(column: str, *, checks: Mapping[str, float | int | bool | None]) -> list[Threshold]:
    """The thresholds that the build had set on a column."""
    found = [(bound.threshold, checks.get(bound.threshold)) for bound in BOUNDS if bound.column == column]
    return [Threshold(name, float(value), name.startswith("min_")) for name, value in found if value is not None]
