"""Regions with speech, from probabilities and levels that are drawn at random."""

from __future__ import annotations

import itertools
import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from preprocess.speech_activity import CHUNK_SAMPLES, LEVEL_SAMPLES, RATE_HZ, Activity, find_speech, speech_share


@st.composite
def activities(draw: st.DrawFn) -> Activity:
    """Spells of speech, noise and silence, of a recording of any length."""
    count = draw(st.integers(1, 20 * RATE_HZ))
    chunks, levels = math.ceil(count / CHUNK_SAMPLES), math.ceil(count / LEVEL_SAMPLES)
    chance = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    spells = chance.integers(1, 40, chunks)
    probabilities = np.repeat(chance.choice([0.0, 0.2, 0.4, 0.6, 1.0], chunks), spells)[:chunks]
    levels_db = np.repeat(chance.choice([-90.0, -60.0, -50.0, -30.0, -10.0], levels), spells.mean().astype(int) + 1)
    return Activity(probabilities.astype(np.float32), levels_db[:levels].astype(np.float32), count / RATE_HZ)


@settings(max_examples=200, deadline=None)
@given(activities())
def test_regions_are_in_order_within_the_recording_and_apart(activity: Activity) -> None:
    regions = find_speech(activity)
    for one in regions:
        assert 0 <= one.start_s < one.end_s <= activity.duration_s
    for one, after in itertools.pairwise(regions):
        assert one.end_s < after.start_s


@settings(max_examples=100, deadline=None)
@given(activities())
def test_the_share_of_speech_is_that_of_its_regions_and_the_longest_pause_lies_between_two(activity: Activity) -> None:
    marks = np.zeros(math.ceil(activity.duration_s * 1000) + 1, bool)
    for one in find_speech(activity):
        marks[round(one.start_s * 1000) : round(one.end_s * 1000)] = True
    share = speech_share(activity)
    assert share.fraction == pytest.approx(
        marks.sum() / 1000 / activity.duration_s, abs=0.01 + 0.002 / activity.duration_s
    )
    runs = [(is_speech, len(list(group))) for is_speech, group in itertools.groupby(marks.tolist())]
    pauses = [
        count / 1000 for place, (is_speech, count) in enumerate(runs) if not is_speech and 0 < place < len(runs) - 1
    ]
    assert share.longest_pause_s == pytest.approx(max(pauses, default=0.0), abs=0.003)


def test_without_a_sample_there_is_no_speech() -> None:
    assert find_speech(Activity(np.empty(0, np.float32), np.empty(0, np.float32), 0.0)) == []
