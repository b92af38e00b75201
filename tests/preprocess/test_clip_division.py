"""Division of speech into clips at pauses; the regions are drawn at random."""

from __future__ import annotations

import itertools

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from preprocess.clip_division import PADDING_S, ClipLengths, divide
from preprocess.speech_activity import Region

LENGTHS = ClipLengths(min_s=1.0, max_s=10.0, pause_s=0.5)
EPSILON_S = 1e-6


@st.composite
def recordings(draw: st.DrawFn) -> tuple[list[Region], float]:
    """Regions of speech with pauses between them, and the length of the recording."""
    times = st.floats(0.05, 4.0)
    regions, at_s = [], draw(st.floats(0.0, 2.0))
    for length_s, pause_s in draw(st.lists(st.tuples(st.one_of(times, st.floats(9.0, 14.0)), times), max_size=25)):
        regions.append(Region(at_s, at_s + length_s))
        at_s += length_s + pause_s
    return regions, at_s


@settings(max_examples=150, deadline=None)
@given(recordings())
def test_each_region_is_whole_in_one_clip_or_left_out_with_a_reason(recording: tuple[list[Region], float]) -> None:
    regions, duration_s = recording
    found = divide(regions, lengths=LENGTHS, duration_s=duration_s)
    for one in regions:
        holders = [
            span
            for span in (*found.clips, *found.too_short, *found.too_long)
            if span.start_s <= one.start_s + EPSILON_S and one.end_s <= span.end_s + EPSILON_S
        ]
        assert len(holders) == 1
        touching = [clip for clip in found.clips if clip.start_s < one.end_s and one.start_s < clip.end_s]
        assert all(clip in holders for clip in touching)  # no clip holds a piece of another region


@settings(max_examples=150, deadline=None)
@given(recordings())
def test_clips_have_the_lengths_that_are_asked_for(recording: tuple[list[Region], float]) -> None:
    regions, duration_s = recording
    found = divide(regions, lengths=LENGTHS, duration_s=duration_s)
    for clip in found.clips:
        assert 0 <= clip.start_s < clip.end_s <= duration_s
        assert LENGTHS.min_s - EPSILON_S <= clip.end_s - clip.start_s <= LENGTHS.max_s + EPSILON_S
    for one, after in itertools.pairwise(sorted(found.clips)):
        assert one.end_s <= after.start_s
    for span in found.too_long:  # there was no pause in it
        assert span in regions
    assert all(span.end_s - span.start_s < LENGTHS.min_s for span in found.too_short)


def ends(*regions: tuple[float, float], lengths: ClipLengths = LENGTHS) -> list[tuple[float, float]]:
    found = divide([Region(*one) for one in regions], lengths=lengths, duration_s=regions[-1][1] + 1)
    return [(round(clip.start_s + PADDING_S, 6), round(clip.end_s - PADDING_S, 6)) for clip in found.clips]


def test_a_long_pause_ends_a_clip_and_a_short_one_does_not() -> None:
    assert ends((1, 3), (3.3, 5), (5.5, 8)) == [(1, 5), (5.5, 8)]


def test_speech_that_is_too_long_is_cut_at_its_longest_pause() -> None:
    assert ends((1, 5), (5.25, 8), (8.3, 12)) == [(1, 8), (8.3, 12)]
    assert ends((1, 6), (6.2, 10.9)) == [(1, 6), (6.2, 10.9)]  # with their padding, 10.1 s together


def test_a_short_word_goes_with_the_nearer_neighbour() -> None:
    assert ends((1, 3), (4, 4.5), (5.2, 8)) == [(1, 3), (4, 8)]
    assert ends((1, 3), (3.6, 4.5), (5.5, 8)) == [(1, 4.5), (5.5, 8)]


def test_a_short_word_that_is_alone_or_far_from_others_is_left_out() -> None:
    found = divide([Region(1, 1.5)], lengths=LENGTHS, duration_s=3)
    assert (found.clips, found.too_short) == ([], [Region(1, 1.5)])
    assert ends((1, 3), (5, 5.5)) == [(1, 3)]


@pytest.mark.parametrize(("pause_s", "padding_s"), [(1.0, PADDING_S), (0.12, 0.06)])
def test_half_of_a_short_pause_belongs_to_either_clip(pause_s: float, padding_s: float) -> None:
    regions = [Region(1, 8), Region(8 + pause_s, 15)]
    first, second = divide(regions, lengths=LENGTHS, duration_s=16).clips
    assert first.end_s == pytest.approx(8 + padding_s)
    assert second.start_s == pytest.approx(8 + pause_s - padding_s)


def test_without_speech_there_are_no_clips() -> None:
    assert divide([], lengths=LENGTHS, duration_s=5).clips == []
