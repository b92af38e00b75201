"""Figures of many clips from their lines."""

from __future__ import annotations

from typing import Any

import pytest

from trainer.evaluation.group_figures import summarise, summarise_groups


def line(**changed: Any) -> dict[str, Any]:
    return {
        "language": "eng_Latn",
        "speaker": "Anna",
        "words": 4,
        "characters": 20,
        "word_errors": 1,
        "character_errors": 3,
        "recording_word_errors": 0,
        "recording_character_errors": 0,
        "duration_ratio": 1.1,
        "mel_cepstral_distance_db": 4.0,
        "f0_rms_cents": 100.0,
        "f0_shift_cents": -50.0,
        "voicing_error": 0.1,
        "speaker_similarity_own": 0.9,
        "recording_similarity_own": 0.95,
        "stop_failures": [],
        "problems": [],
        "real_time_factor": 0.5,
        **changed,
    }


def test_errors_are_shares_of_all_words_and_measures_are_means_of_what_was_measured() -> None:
    unheard = dict.fromkeys(("words", "characters", "word_errors", "character_errors", "recording_word_errors"), None)
    lines = [
        line(),
        line(words=12, word_errors=3, duration_ratio=0.7, stop_failures=["early"], real_time_factor=0.1),
        line(**unheard, recording_character_errors=None, f0_rms_cents=None, f0_shift_cents=None, speaker="Ben"),
    ]
    found = summarise(lines)
    assert found["clips"] == 3
    assert found["word_error_rate"] == 4 / 16
    assert found["character_error_rate"] == 6 / 40
    assert found["recording_word_error_rate"] == 0
    assert found["f0_shift_cents"] == -50.0
    assert found["duration_error"] == pytest.approx((0.1 + 0.3 + 0.1) / 3)
    assert found["stop_failures_per_1000"] == pytest.approx(1000 / 3)
    assert found["real_time_factor"] == 0.5
    groups = summarise_groups(lines)
    assert groups["all"]["all"] == found
    assert groups["language"] == {"eng_Latn": found}
    assert groups["speaker"]["Ben"] == summarise(lines[2:])
    assert groups["speaker"]["Ben"]["word_error_rate"] is None
