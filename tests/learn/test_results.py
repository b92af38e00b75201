"""Bounds are inclusive, NaN misses them, and one missed bound fails the check."""

from __future__ import annotations

import pytest

from tests.learn.results import Measurement, as_document


@pytest.mark.parametrize(
    ("sign", "bound", "got", "verdict"),
    [
        ("≥", 0.95, 0.95, "met"),
        ("≥", 0.95, 0.9499, "missed"),
        ("≤", 0.02, 0.02, "met"),
        ("≤", 0.02, 0.0201, "missed"),
        ("≤", 0.02, float("nan"), "missed"),
        ("≥", 0.95, float("nan"), "missed"),
        ("", None, 7.0, ""),
    ],
)
def test_a_line_is_met_at_its_bound(sign: str, bound: float | None, got: float, verdict: str) -> None:
    assert Measurement("unseen", "something", got, sign, bound).verdict == verdict


def test_the_check_passes_where_no_line_is_missed() -> None:
    met, missed, shown = (
        Measurement("a", "b", 0.1, "≤", 0.2),
        Measurement("a", "b", 0.3, "≤", 0.2),
        Measurement("a", "b", 0.3),
    )
    assert as_document([met, shown], step=5)["passed"] is True
    assert as_document([met, missed, shown], step=5)["passed"] is False
