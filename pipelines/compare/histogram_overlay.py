"""Two histograms in one drawing, as SVG coordinates: shares of each dataset, so that their sizes do not matter.

y ┤   ┌─┐█       A as an outline, B filled
  ┤▂┌─┘█└─┐
  └──────── x
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pipelines.compare.drift import Drift
from pipelines.html.axes import VIEW_BOX, Axes, Tick, choose_bins, round_step


class Bar(NamedTuple):
    """One bin: the bar of B, and the text shown when the pointer is over it."""

    label: str
    shares: tuple[float, float]  # of A's and of B's records
    x: float
    width: float
    y: float


class Overlay(NamedTuple):
    """A drawing of one measurement in one group."""

    drift: Drift
    bars: list[Bar]
    outline: str  # of A, as points of a polyline
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    medians: tuple[float, float]  # places on the x axis

    @property
    def base(self) -> float:
        return VIEW_BOX.height - VIEW_BOX.bottom


def draw_overlay(before: np.ndarray, after: np.ndarray, *, drift: Drift) -> Overlay:
    """Draw both samples with common bins."""
    bins = choose_bins(np.concatenate([before, after]), integers=drift.measure.integers)
    shares_a, shares_b = (bins.counts(values) / max(len(values), 1) for values in (before, after))
    most = max(float(shares_a.max()), float(shares_b.max()), 1e-6)
    step = round_step(most, max_steps=4)
    ticks = [number * step for number in range(math.ceil(most / step - 1e-9) + 1)]
    axes = Axes(bins, y_max=ticks[-1])
    edges = [axes.x(edge) for edge in bins.edges]
    middle = len(drift.quantiles[0]) // 2
    return Overlay(
        drift=drift,
        bars=[
            Bar(bins.label(i), (float(one), float(other)), edges[i], round(edges[i + 1] - edges[i], 2), axes.y(other))
            for i, (one, other) in enumerate(zip(shares_a, shares_b, strict=True))
        ],
        outline=_outline(edges, [axes.y(share) for share in shares_a], base=axes.y(0)),
        x_ticks=axes.x_ticks(),
        y_ticks=[Tick(axes.y(share), f"{100 * share:g}") for share in ticks],
        medians=(axes.x(drift.quantiles[0][middle]), axes.x(drift.quantiles[1][middle])),
    )


def _outline(edges: list[float], heights: list[float], *, base: float) -> str:
    """The points of a step line: up at the first edge, along each bin, down at the last edge."""
    points = [(edges[0], base)]
    for left, right, y in zip(edges, edges[1:], heights, strict=False):
        points += [(left, y), (right, y)]
    points.append((edges[-1], base))
    return " ".join(f"{x},{y}" for x, y in points)
