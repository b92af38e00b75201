from __future__ import annotations

import numpy as np
import pydantic
import pytest

from preprocess.audio import Audio
from preprocess.checks import CheckConfig, check_duration, check_tokens
from preprocess.utterance import Reason, Rejected
from shared.vocabulary import END_ID, UNKNOWN_ID

BOUNDS = CheckConfig(min_duration_s=0.5, max_duration_s=2.0, max_tokens=12, max_unknown_fraction=0.2)
RATE_HZ = 1000


def audio_of(samples: int) -> Audio:
    return Audio(np.zeros(samples, np.float32), RATE_HZ, RATE_HZ)


def tokens_of(*, known: int, unknown: int = 0) -> tuple[int, ...]:
    return (256047, *[77] * known, *[UNKNOWN_ID] * unknown, END_ID)


@pytest.mark.parametrize("samples", [500, 501, 2000])
def test_a_duration_on_or_within_the_bounds_passes(samples: int) -> None:
    check_duration(audio_of(samples), bounds=BOUNDS, min_samples=10)


@pytest.mark.parametrize(
    ("samples", "min_samples", "reason"),
    [
        (0, 10, Reason.TOO_SHORT),
        (499, 10, Reason.TOO_SHORT),
        (2001, 10, Reason.TOO_LONG),
        (600, 601, Reason.TOO_SHORT),
    ],
)
def test_a_duration_outside_the_bounds_is_rejected(samples: int, min_samples: int, reason: Reason) -> None:
    with pytest.raises(Rejected) as caught:
        check_duration(audio_of(samples), bounds=BOUNDS, min_samples=min_samples)
    assert caught.value.reason == reason


@pytest.mark.parametrize("tokens", [tokens_of(known=1), tokens_of(known=10), tokens_of(known=8, unknown=2)])
def test_tokens_on_or_within_the_bounds_pass(tokens: tuple[int, ...]) -> None:
    check_tokens(tokens, bounds=BOUNDS)


@pytest.mark.parametrize(
    ("tokens", "reason"),
    [
        (tokens_of(known=0), Reason.EMPTY_TEXT),
        (tokens_of(known=11), Reason.TOO_MANY_TOKENS),
        (tokens_of(known=7, unknown=3), Reason.TOO_MANY_UNKNOWNS),
        (tokens_of(known=0, unknown=1), Reason.TOO_MANY_UNKNOWNS),
    ],
)
def test_tokens_outside_the_bounds_are_rejected(tokens: tuple[int, ...], reason: Reason) -> None:
    with pytest.raises(Rejected) as caught:
        check_tokens(tokens, bounds=BOUNDS)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    "bounds",
    [
        {"min_duration_s": 0},
        {"max_duration_s": float("inf")},
        {"max_duration_s": float("nan")},
        {"max_duration_s": 3601},
        {"max_tokens": 2},
        {"max_unknown_fraction": 1.1},
        {"max_seconds": 3},
    ],
)
def test_bounds_without_sense_are_refused(bounds: dict[str, float]) -> None:
    with pytest.raises(pydantic.ValidationError):
        CheckConfig.model_validate(bounds)
