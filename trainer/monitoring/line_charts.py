"""Figures over steps as drawings: places are in the units of the drawing's viewBox."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

MAX_POINTS = 1_000  # of a line; of more, the least and the greatest of each window are drawn
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 480, 220, 58, 12, 12, 30

Row = dict[str, Any]


class Tick(NamedTuple):
    place: float
    label: str


class Line(NamedTuple):
    """One figure: a line, or a dot where it was taken once."""

    name: str
    points: str  # of a polyline
    dots: list[tuple[float, float]]
    last: str  # its last value, in words


class Chart(NamedTuple):
    """Figures that have one scale."""

    title: str
    unit: str
    lines: list[Line]
    x_ticks: list[Tick]
    y_ticks: list[Tick]


class ChartSpec(NamedTuple):
    """A chart that is wanted: (name on the page, kind of row, name in the row) of each line."""

    title: str
    unit: str
    figures: Sequence[tuple[str, str, str]]
    factor: float = 1.0


def build_chart(spec: ChartSpec, *, rows: Iterable[Row]) -> Chart | None:
    """None where no row has any of the figures; what is no number is left out."""
    every = list(rows)
    series = {
        name: np.array(_points(every, kind=kind, key=key, factor=spec.factor), float)
        for name, kind, key in spec.figures
    }
    series = {name: points for name, points in series.items() if len(points)}
    if not series:
        return None
    whole = np.concatenate(list(series.values()))
    (first, low), (last, high) = whole.min(0), whole.max(0)
    x_ticks, y_ticks = round_ticks(first, last, at_most=6), round_ticks(low, high, at_most=5)
    low, high = min(low, y_ticks[0]), max(high, y_ticks[-1])

    def x(step: float) -> float:
        return round(LEFT + (step - first) / max(last - first, 1e-9) * (WIDTH - LEFT - RIGHT), 1)

    def y(value: float) -> float:
        return round(HEIGHT - BOTTOM - (value - low) / max(high - low, 1e-12) * (HEIGHT - BOTTOM - TOP), 1)

    lines = []
    for name, points in series.items():
        places = [(x(step), y(value)) for step, value in _thinned(points)]
        dots = places if len(places) == 1 else []
        lines.append(Line(name, " ".join(f"{a},{b}" for a, b in places), dots, format_number(points[-1, 1])))
    return Chart(
        spec.title,
        spec.unit,
        lines,
        [Tick(x(value), format_number(value)) for value in x_ticks if first <= value <= last],
        [Tick(y(value), format_number(value)) for value in y_ticks],
    )


def _points(rows: list[Row], *, kind: str, key: str, factor: float) -> list[tuple[float, float]]:
    found = ((row["step"], row.get(key)) for row in rows if row.get("kind") == kind)
    return [(step, value * factor) for step, value in found if isinstance(value, int | float) and math.isfinite(value)]


def _thinned(points: np.ndarray) -> np.ndarray:
    """Points [n, 2]; of many, the least and the greatest value of each window, so that no peak is lost."""
    if len(points) <= MAX_POINTS:
        return points
    kept = set()
    for window in np.array_split(np.arange(len(points)), MAX_POINTS // 2):
        values = points[window, 1]
        kept |= {int(window[values.argmin()]), int(window[values.argmax()])}
    return points[sorted(kept)]


def round_ticks(low: float, high: float, *, at_most: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten from `low` or just below it to `high` or just above it."""
    span = max(high - low, abs(high) * 1e-3, 1e-12)
    exponent = math.floor(math.log10(span / at_most))
    steps = [base * 10.0**power for power in (exponent, exponent + 1) for base in (1, 2, 5)]
    step = next(step for step in steps if span / step <= at_most)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(number * step, 2 - exponent) for number in range(first, max(last, first + 1) + 1)]


def format_number(value: float) -> str:
    """A number as it stands on the page: 0.4, −23.5, 10,900, 1.5e−4."""
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return text.replace("-", "−")
