"""Bins hold every value; steps and ticks are round."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pipelines.html.axes import choose_bins, round_step
from pipelines.html.media import frequency_ticks
from shared.features import PRESETS


@pytest.mark.parametrize("seed", range(20))
def test_bins_hold_every_value(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.exp(rng.normal(rng.uniform(-3, 8), rng.uniform(0, 3), int(rng.integers(1, 3000))))
    bins = choose_bins(values, limits=rng.uniform(0, 100, 2).tolist(), integers=bool(seed % 2))
    counts = bins.counts(values)
    assert counts.sum() == len(values)
    inside = np.histogram(values, bins.edges)[0]
    assert np.array_equal(counts[1:-1], inside[1:-1])
    assert np.all(np.diff(bins.edges) > 0)


def test_bins_of_one_value_and_of_none() -> None:
    assert choose_bins(np.full(9, 4.2)).counts(np.full(9, 4.2)).sum() == 9
    assert choose_bins(np.zeros(0)).counts(np.zeros(0)).sum() == 0


def test_a_step_is_round() -> None:
    assert [round_step(span, max_steps=5) for span in (1, 4.9, 7, 12, 300)] == [0.2, 1, 2, 5, 100]


@pytest.mark.parametrize("spec", PRESETS.values(), ids=PRESETS)
def test_kilohertz_rise_along_the_bands(spec: Any) -> None:
    places = [tick.position for tick in frequency_ticks(spec)]
    assert places == sorted(places)
    assert 0 < places[0] < 0.3
    assert places[-1] <= 1
