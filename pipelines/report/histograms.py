"""Histograms as geometry: what the template draws, in the units of its viewBox.

y ┤  ▄█▄ ┆      kept below, withheld on top of it
  ┤▂█████┆▂     ┆ a threshold
  └──────── x
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from preprocess.checks import BOUNDS

BAND_HEIGHT, BAND_LABEL = 20, 150

MIN_BINS, MAX_BINS = 12, 40
# Values beyond these percentiles, and further off than the distance between them, share the bins at the edges.
CORE = (0.5, 99.5)
# A threshold is drawn where that makes the axis at most so much longer.
STRETCH = 2.0


class View(NamedTuple):
    """The drawing, and the margins around its bars."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int


VIEW = View(width=400, height=200, left=40, right=10, top=24, bottom=36)


class Limit(NamedTuple):
    """A threshold."""

    name: str  # the field of the config
    value: float
    is_lower: bool


class Band(NamedTuple):
    """What a source allows."""

    name: str
    low: float
    high: float


class Bins(NamedTuple):
    """Places on an axis, [n + 1] edges; the first and the last bin may hold what lies beyond, too."""

    edges: np.ndarray
    open_below: bool
    open_above: bool

    def tally(self, values: np.ndarray) -> np.ndarray:
        """[n]; every value is counted."""
        last = len(self.edges) - 2
        places = np.searchsorted(self.edges, values, side="right") - 1
        return np.bincount(np.clip(places, 0, last), minlength=last + 1)

    def label(self, number: int) -> str:
        low, high = (written(edge, digits=6) for edge in self.edges[number : number + 2])
        if number == 0 and self.open_below:
            return f"below {high}"
        return f"{low} and more" if number == len(self.edges) - 2 and self.open_above else f"{low} to {high}"


class Bar(NamedTuple):
    label: str
    kept: int
    withheld: int
    x: float
    width: float
    kept_y: float
    withheld_y: float


class Tick(NamedTuple):
    place: float
    label: str


class Line(NamedTuple):
    """A threshold; one outside the drawing is an arrow at its edge."""

    name: str
    label: str
    x: float
    is_lower: bool
    is_outside: bool


class Strip(NamedTuple):
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
        return min(max((self.x + self.stop) / 2, VIEW.left + reach), VIEW.width - VIEW.right - reach)


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
    lines: list[Line]
    strips: list[Strip]
    top: float

    @property
    def base(self) -> float:
        return VIEW.height - VIEW.bottom


def choose_bins(values: np.ndarray, *, limits: Sequence[float] = (), integers: bool = False) -> Bins:
    """Bins of a round width that show nearly all values, and the limits where they are near."""
    low, high = core = _view(values)
    for limit in limits:
        wider = min(low, limit), max(high, limit)
        if wider[1] - wider[0] <= STRETCH * (core[1] - core[0]):
            low, high = wider
    wanted = int(np.clip(2 * math.sqrt(len(values)), MIN_BINS, MAX_BINS))
    step = round_step(max(core[1] - core[0], abs(high) * 1e-3, 1e-6), at_most=wanted)
    step = max(1.0, step) if integers else step
    first, last = math.floor(low / step), max(math.floor(high / step), math.floor(low / step)) + 1
    edges = np.round(np.arange(first, last + 1) * step, 9)
    return Bins(edges, bool(np.any(values < edges[0])), bool(np.any(values >= edges[-1])))


def _view(values: np.ndarray) -> tuple[float, float]:
    if len(values) == 0:
        return 0.0, 1.0
    low, high = np.percentile(values, CORE)
    reach = high - low
    return max(float(values.min()), low - reach), min(float(values.max()), high + reach)


def round_step(span: float, *, at_most: int) -> float:
    """The least of … 0.1 0.2 0.5 1 2 5 … that divides the span into so few parts."""
    exponent = math.floor(math.log10(span / at_most))
    steps = (base * 10.0**power for power in (exponent, exponent + 1) for base in (1, 2, 5))
    return next(step for step in steps if span / step <= at_most * (1 + 1e-9))


def draw(
    kept: np.ndarray,
    *,
    withheld: np.ndarray,
    bins: Bins,
    title: str,
    unit: str,
    column: str,
    limits: Sequence[Limit] = (),
    bands: Sequence[Band] = (),
) -> Histogram:
    """The histogram of the kept values, with the withheld ones on top of them."""
    counts, aside = bins.tally(kept), bins.tally(withheld)
    y_ticks = _count_ticks(int((counts + aside).max()))
    top = VIEW.top + BAND_HEIGHT * max(0, len(bands) - 1)
    axis = _Axes(bins, most=float(y_ticks[-1]), top=top)
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
        strips=[axis.strip(band, y=VIEW.top - 12 + BAND_HEIGHT * number) for number, band in enumerate(bands)],
        top=top,
    )


def _quantiles(values: np.ndarray) -> tuple[float, float, float] | None:
    return tuple(np.percentile(values, (5, 50, 95)).tolist()) if len(values) else None


def _count_ticks(most: int) -> list[int]:
    step = int(max(1, round_step(max(most, 1), at_most=4)))
    return list(range(0, -(-max(most, 1) // step) * step + 1, step))


class _Axes:
    """From values to places."""

    def __init__(self, bins: Bins, *, most: float, top: float):
        self._bins, self._most, self._top = bins, most, top
        self._low, self._high = float(bins.edges[0]), float(bins.edges[-1])

    def x(self, value: float) -> float:
        share = (min(max(value, self._low), self._high) - self._low) / (self._high - self._low)
        return round(VIEW.left + share * (VIEW.width - VIEW.left - VIEW.right), 2)

    def y(self, count: float) -> float:
        return round(VIEW.height - VIEW.bottom - count / self._most * (VIEW.height - VIEW.bottom - self._top), 2)

    def bar(self, number: int, *, kept: int, withheld: int) -> Bar:
        x, stop = (self.x(edge) for edge in self._bins.edges[number : number + 2])
        gap = 1.0 if stop - x > 4 else 0.4
        return Bar(
            label=self._bins.label(number),
            kept=kept,
            withheld=withheld,
            x=x,
            width=round(stop - x - gap, 2),
            kept_y=self.y(kept),
            withheld_y=self.y(kept + withheld),
        )

    def x_ticks(self) -> list[Tick]:
        step = round_step(self._high - self._low, at_most=7)
        places = np.arange(math.ceil(self._low / step), math.floor(self._high / step + 1e-9) + 1) * step
        return [Tick(self.x(place), written(round(place, 9), digits=6)) for place in places.tolist()]

    def line(self, limit: Limit) -> Line:
        is_outside = not self._low <= limit.value <= self._high
        sign = "≥" if limit.is_lower else "≤"
        label = f"{sign} {written(limit.value, digits=6)}"
        return Line(limit.name, label, self.x(limit.value), limit.is_lower, is_outside)

    def strip(self, band: Band, *, y: float) -> Strip:
        return Strip(
            label=f"{band.name} {written(band.low)} to {written(band.high)}",
            x=self.x(band.low),
            stop=self.x(band.high),
            y=y,
            has_start=self._low <= band.low,
            has_stop=band.high <= self._high,
        )


def written(value: float, *, digits: int = 3) -> str:
    """A number as it stands on the page: 0.4, −23.5, 10,900."""
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"
    return text.replace("-", "−")


def limits_of(column: str, *, checks: Mapping[str, float | int | bool | None]) -> list[Limit]:
    """The thresholds on a column that were set."""
    found = [(bound.threshold, checks.get(bound.threshold)) for bound in BOUNDS if bound.column == column]
    return [Limit(name, float(value), name.startswith("min_")) for name, value in found if value is not None]
