"""Line charts over training steps, as coordinates for an SVG template."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

MAX_POINTS = 1_000  # of a line; from longer ones the minimum and the maximum of each interval are kept
# in units of the SVG's viewBox
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 480, 240, 58, 12, 24, 40
LABEL_WIDTH = 90  # of a mark

Row = dict[str, Any]
Series = np.ndarray  # [n, 2]: steps, values


class Tick(NamedTuple):
    """A labelled place on an axis."""

    place: float
    label: str


class Line(NamedTuple):
    """One metric of one run; a series of one point is drawn as a dot."""

    name: str
    points: str  # of a polyline
    dots: list[tuple[float, float]]
    last: str  # the last value, formatted
    color: int


class Mark(NamedTuple):
    """A vertical line at a step, such as the best one."""

    place: float
    label: str
    color: int  # that of the line it belongs to


class Chart(NamedTuple):
    """Lines that share both axes."""

    title: str
    unit: str
    note: str
    lines: list[Line]
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    marks: list[Mark]


class ChartSpec(NamedTuple):
    """A chart to draw: (name in the legend, kind of row, key in the row) of each line."""

    title: str
    unit: str
    metrics: Sequence[tuple[str, str, str]]
    factor: float = 1.0
    note: str = ""


def read_series(rows: Sequence[Row], *, kind: str, key: str, factor: float = 1.0) -> Series:
    """Steps and values [n, 2] of a metric; values that are not finite numbers are left out."""
    values = ((row["step"], row.get(key)) for row in rows if row.get("kind") == kind)
    points = [(step, value * factor) for step, value in values if isinstance(value, int | float)]
    return np.array([point for point in points if math.isfinite(point[1])], float).reshape(-1, 2)


def build_chart(spec: ChartSpec, *, rows: Sequence[Row], best_step: int | None = None) -> Chart | None:
    """A chart of one run's rows, with a mark at its best step; None if no row has any of the metrics."""
    series = {name: read_series(rows, kind=kind, key=key, factor=spec.factor) for name, kind, key in spec.metrics}
    return draw_lines(spec, series=series, best_steps={0: best_step})


def draw_lines(
    spec: ChartSpec, *, series: Mapping[str, Series], best_steps: Mapping[int, int | None] | None = None
) -> Chart | None:
    """A chart of series by name.

    Args:
        series: in the order of their colors; empty ones are left out.
        best_steps: the step to mark by the number of the color.

    Returns:
        None if every series is empty.
    """
    drawn = [points for points in series.values() if len(points)]
    if not drawn:
        return None
    whole = np.concatenate(drawn)
    (first, low), (last, high) = whole.min(0), whole.max(0)
    y_ticks = round_ticks(low, high, at_most=5)
    low, high = min(low, y_ticks[0]), max(high, y_ticks[-1])

    def x(step: float) -> float:
        return round(LEFT + (step - first) / max(last - first, 1e-9) * (WIDTH - LEFT - RIGHT), 1)

    def y(value: float) -> float:
        return round(HEIGHT - BOTTOM - (value - low) / max(high - low, 1e-12) * (HEIGHT - BOTTOM - TOP), 1)

    def line(name: str, points: Series, color: int) -> Line:
        places = [(x(step), y(value)) for step, value in _thinned(points)]
        dots = places if len(places) == 1 else []
        return Line(name, " ".join(f"{a},{b}" for a, b in places), dots, format_number(points[-1, 1]), color)

    lines = [line(name, points, color) for color, (name, points) in enumerate(series.items()) if len(points)]
    marks: list[Mark] = []
    for color, step in (best_steps or {}).items():
        if step is not None and first <= step <= last:
            is_free = all(abs(x(step) - mark.place) > LABEL_WIDTH for mark in marks)
            marks.append(Mark(x(step), f"best {step:,}" if is_free else "", color))
    return Chart(
        spec.title,
        spec.unit,
        spec.note,
        lines,
        [Tick(x(step), f"{step:,.0f}") for step in _step_ticks(first, last)],
        [Tick(y(value), format_number(value)) for value in y_ticks],
        marks,
    )


def _step_ticks(first: float, last: float) -> list[float]:
    """Round steps within the range; the ends of a range that has none."""
    ticks = round_ticks(first, last, at_most=6)
    return [step for step in ticks if first <= step <= last and step == round(step)] or sorted({first, last})


def _thinned(points: Series) -> Series:
    """The series; of a long one the minimum and the maximum of each interval, so that no peak is lost."""
    if len(points) <= MAX_POINTS:
        return points
    kept = set()
    for interval in np.array_split(np.arange(len(points)), MAX_POINTS // 2):
        values = points[interval, 1]
        kept |= {int(interval[values.argmin()]), int(interval[values.argmax()])}
    return points[sorted(kept)]


def round_ticks(low: float, high: float, *, at_most: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten that cover the range from `low` to `high`."""
    span = max(high - low, abs(high) * 1e-3, 1e-12)
    exponent = math.floor(math.log10(span / at_most))
    steps = [base * 10.0**power for power in (exponent, exponent + 1) for base in (1, 2, 5)]
    step = next(step for step in steps if span / step <= at_most)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(number * step, 2 - exponent) for number in range(first, max(last, first + 1) + 1)]


def format_number(value: float) -> str:
    """Three significant digits: 0.4, −23.5, 10,900, 1.5e−4."""
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return text.replace("-", "−")
