from __future__ import annotations

from typing import Any

import numpy as np
import pydantic
import pytest

from preprocess.check_config import CheckConfig
from preprocess.checks import BOUNDS, DUPLICATE_BOUND, REPEAT_BOUND, failures
from preprocess.utterance import Reason

# A clip that nothing is wrong with.
GOOD: dict[str, float] = {
    "duration_s": 5.0,
    "frames": 430,
    "tokens": 40,
    "unknown_fraction": 0.0,
    "unread_numbers": 0,
    "rms_db": -22.0,
    "peak": 0.7,
    "clipped_fraction": 1e-5,
    "silence_fraction": 0.1,
    "snr_db": 35.0,
    "dc_offset": 1e-4,
    "bandwidth_hz": 10_000.0,
}
EVERY = CheckConfig(
    max_frames=1000, max_unread_numbers=0, max_peak=0.99, min_bandwidth_hz=5000.0, max_tokens=100, min_duration_s=1.0
)


def columns_of(*rows: dict[str, float]) -> dict[str, np.ndarray]:
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def reasons(checks: CheckConfig, *rows: dict[str, float]) -> list[tuple[int, Reason]]:
    return [(row, reason) for row, reason, _ in failures(columns_of(*rows), checks=checks)]


def test_a_good_clip_passes_every_check() -> None:
    assert reasons(EVERY, GOOD) == []


@pytest.mark.parametrize(
    ("column", "within", "outside", "reason"),
    [
        ("duration_s", 1.0, 0.999, Reason.TOO_SHORT),
        ("duration_s", 20.0, 20.001, Reason.TOO_LONG),
        ("frames", 1000, 1001, Reason.TOO_MANY_FRAMES),
        ("tokens", 100, 101, Reason.TOO_MANY_TOKENS),
        ("unknown_fraction", 0.2, 0.21, Reason.TOO_MANY_UNKNOWNS),
        ("unread_numbers", 0, 1, Reason.UNREAD_NUMBERS),
        ("rms_db", -60.0, -60.1, Reason.TOO_QUIET),
        ("peak", 0.99, 1.0, Reason.TOO_LOUD),
        ("clipped_fraction", 0.01, 0.011, Reason.CLIPPED),
        ("silence_fraction", 0.8, 0.81, Reason.SILENCE),
        ("snr_db", 5.0, 4.9, Reason.NOISY),
        ("dc_offset", 0.1, 0.11, Reason.DC_OFFSET),
        ("bandwidth_hz", 5000.0, 4000.0, Reason.NARROW_BAND),
    ],
)
def test_a_value_on_its_bound_passes_and_one_beyond_fails_for_its_own_reason(
    column: str, within: float, outside: float, reason: Reason
) -> None:
    found = reasons(EVERY, GOOD | {column: within}, GOOD | {column: outside}, GOOD)
    assert found == [(1, reason)]


def test_every_threshold_has_a_bound_and_every_bound_has_a_case_above() -> None:
    elsewhere = {"characters_per_second_deviations", "reject_text_leaks"}
    named = {bound.threshold for bound in (*BOUNDS, DUPLICATE_BOUND, REPEAT_BOUND)}
    assert named | elsewhere == set(CheckConfig.model_fields)
    assert {bound.column for bound in BOUNDS} == set(GOOD)


def test_a_check_that_is_left_out_rejects_nothing() -> None:
    none = CheckConfig(**{name: None for name in CheckConfig.model_fields if name != "reject_text_leaks"})
    worst = dict.fromkeys(GOOD, 1e9)
    assert reasons(none, worst, {name: -value for name, value in worst.items()}) == []


def test_a_row_that_fails_two_checks_gives_both_reasons() -> None:
    assert reasons(EVERY, GOOD | {"snr_db": 1.0, "duration_s": 30.0}) == [(0, Reason.TOO_LONG), (0, Reason.NOISY)]


def test_the_message_names_figure_bound_and_threshold() -> None:
    ((_, _, message),) = failures(columns_of(GOOD | {"snr_db": 3.14159}), checks=EVERY)
    assert message == "snr_db 3.142 dB, at least 5 (min_snr_db)"


@pytest.mark.parametrize(
    "bounds",
    [
        {"min_duration_s": 0},
        {"max_duration_s": float("inf")},
        {"max_duration_s": float("nan")},
        {"max_tokens": 2},
        {"max_unknown_fraction": 1.1},
        {"min_duplicate_bits": 129},
        {"reject_text_leaks": None},
        {"max_seconds": 3},
    ],
)
def test_bounds_without_sense_are_refused(bounds: dict[str, Any]) -> None:
    with pytest.raises(pydantic.ValidationError):
        CheckConfig.model_validate(bounds)
