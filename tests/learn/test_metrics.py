"""The metrics against brute force, and on clips with a known answer."""

from __future__ import annotations

import numpy as np
import pytest

from tests.learn.metrics import has_length_of, orderly_moves, pitch_hz


def attended(places: list[int], *, tokens: int = 12) -> np.ndarray:
    """An alignment that attends mostly to these tokens, and a little everywhere."""
    return 0.9 * np.eye(tokens)[places] + 0.1 / tokens


@pytest.mark.parametrize(
    ("places", "orderly"),
    [
        ([0, 0, 1, 3, 4], [True, True, True, True]),
        ([0, 3, 3], [False, True]),
        ([4, 3, 5, 5, 0], [False, True, True, False]),
        ([7], []),
    ],
)
def test_attention_may_stay_or_move_on_by_two_tokens_at_most(places: list[int], orderly: list[bool]) -> None:
    assert orderly_moves(attended(places)).tolist() == orderly


def test_a_length_is_right_within_fifteen_percent() -> None:
    assert [frames for frames in range(80, 121) if has_length_of(frames, 100)] == list(range(85, 116))


@pytest.mark.parametrize("pitch", [90.0, 180.0])
def test_pitch_is_that_of_the_loud_part(pitch: float) -> None:
    time = np.arange(22_050) / 22_050
    voice = sum(np.sin(2 * np.pi * pitch * harmonic * time) / harmonic for harmonic in range(1, 9))
    hum = 0.003 * np.sin(2 * np.pi * 300 * time)
    assert pitch_hz(np.concatenate([hum, voice, hum]), rate_hz=22_050) == pytest.approx(pitch, rel=0.03)
