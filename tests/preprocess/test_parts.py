"""Paths of parts of recordings."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from preprocess.parts import MAX_RECORDING_S, Part, containing_file, part_id, part_path, split_part
from preprocess.utterance import Reason, Rejected

TIMES_S = st.floats(0, MAX_RECORDING_S).map(lambda value: round(value, 6))


@given(start_s=TIMES_S, end_s=TIMES_S, path=st.text(min_size=1))
@example(start_s=0.0, end_s=1e-6, path="a")
@example(start_s=12.5, end_s=17.25, path="a#t=1,2")
def test_a_part_is_split_into_the_path_and_the_times_that_it_was_made_of(
    start_s: float, end_s: float, path: str
) -> None:
    start_s, end_s = sorted((start_s, end_s))
    if start_s == end_s:
        end_s = round(end_s + 1e-3, 6)
    if end_s <= MAX_RECORDING_S:
        assert split_part(part_path(path, start_s=start_s, end_s=end_s)) == Part(path, start_s, end_s)
    assert split_part(part_path(path, start_s=start_s, end_s=None)) == Part(path, start_s, None)


def test_the_form_is_that_of_media_fragments() -> None:
    assert part_path("a/b.flac", start_s=12.5, end_s=17.25) == "a/b.flac#t=12.5,17.25"
    assert part_path("a/b.flac", start_s=0, end_s=20) == "a/b.flac#t=0,20"
    assert part_path("a/b.flac", start_s=-0.0, end_s=20) == "a/b.flac#t=0,20"
    assert part_path("a/b.flac", start_s=100, end_s=None) == "a/b.flac#t=100"
    assert containing_file("a/b.flac#t=12.5,17.25") == containing_file("a/b.flac") == "a/b.flac"


@pytest.mark.parametrize(
    "path", ["a.wav", "a#t=1,2.wav", "a.wav#t=", "a.wav#t=1,", "a.wav#t=-1,2", "#t=1,2", "a#t=1e3", "a#t=12345678"]
)
def test_other_paths_are_those_of_whole_recordings(path: str) -> None:
    assert split_part(path) is None
    assert containing_file(path) == path


@pytest.mark.parametrize(
    ("start_s", "end_s"),
    [
        (-1.0, 2.0),
        (2.0, 1.0),
        (1.0, 1.0),
        (1.0, 1.0 + 1e-12),
        (math.nan, 1.0),
        (0.0, math.nan),
        (0.0, math.inf),
        (0.0, 1e7),
    ],
)
def test_times_that_are_no_part_are_rejected(start_s: float, end_s: float) -> None:
    with pytest.raises(Rejected, match="no part of a recording") as caught:
        part_path("a.wav", start_s=start_s, end_s=end_s)
    assert caught.value.reason == Reason.BAD_METADATA_ROW


def test_ids_of_parts_sort_as_their_times_do() -> None:
    times_s = [0.0, 0.5, 9.999, 10.0, 3600.25]
    ids = [part_id("talk", start_s=time_s, end_s=time_s + 1) for time_s in times_s]
    assert ids == sorted(ids)
    assert ids[-1] == "talk-3600250-3601250"
    assert part_id("talk", start_s=1, end_s=None) == "talk-0001000-end"
