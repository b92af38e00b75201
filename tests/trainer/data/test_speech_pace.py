"""The pace of each language: from the manifests, by brute force; wider after a run is resumed on other clips."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shared.dataset import Dataset
from trainer.data.speech_pace import ANY_PACE, MARGIN, SpeechPace


def pace(least: float, most: float) -> SpeechPace:
    return SpeechPace(min_frames_per_token=least, max_frames_per_token=most)


@pytest.mark.parametrize("max_frames", [None, 150])
def test_nearly_all_clips_of_a_language_are_well_within_its_pace(dataset: Dataset, max_frames: int | None) -> None:
    rows = dataset.manifest("train").to_pylist()
    found = SpeechPace.by_language(dataset, max_frames=max_frames)
    assert found.keys() == {row["language"] for row in rows if row["frames"] <= (max_frames or math.inf)}
    for language, pace in found.items():
        paces = [
            row["frames"] / row["tokens"]
            for row in rows
            if row["language"] == language and row["frames"] <= (max_frames or math.inf)
        ]
        assert pace.min_frames_per_token * MARGIN == pytest.approx(np.quantile(paces, 0.01))
        assert pace.max_frames_per_token / MARGIN == pytest.approx(np.quantile(paces, 0.99))
        assert all(pace.min_frames_per_token <= one <= pace.max_frames_per_token for one in paces)


def test_a_language_without_clips_has_no_pace(dataset: Dataset) -> None:
    assert SpeechPace.by_language(dataset, max_frames=1) == {}
    assert (ANY_PACE.min_frames_per_token, ANY_PACE.max_frames_per_token) == (0.0, math.inf)


def test_a_resumed_run_knows_the_clips_of_all_its_sessions() -> None:
    one, other = pace(2.0, 8.0), pace(3.0, 9.0)
    assert one.merged_with(other) == other.merged_with(one) == pace(2.0, 9.0)
    assert one.merged_with(None) == one
