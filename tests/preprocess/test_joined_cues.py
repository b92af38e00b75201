"""Words that an aligner gives are joined into parts, without losing one."""

from __future__ import annotations

import itertools
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preprocess.corpora.cues import Cue
from preprocess.corpora.joined_cues import EDGE_S, MAX_PAUSE_S, join_cues
from preprocess.utterance import Reason, Rejected, Rejection, Utterance

WORDS = st.lists(st.tuples(st.floats(0, 1.5), st.floats(0.05, 3)), max_size=60)


def timed(words: list[tuple[float, float]]) -> list[tuple[int, Cue]]:
    """Cues from pauses and lengths in seconds."""
    position, found = 0.0, []
    for number, (pause_s, length_s) in enumerate(words):
        found.append((number, Cue(position + pause_s, position + pause_s + length_s, f"w{number}")))
        position += pause_s + length_s
    return found


@settings(max_examples=200)
@given(words=WORDS, max_s=st.floats(0.5, 15))
def test_every_word_is_in_one_part_and_no_part_is_too_long_or_reaches_into_another(
    words: list[tuple[float, float]], max_s: float
) -> None:
    found = timed(words)
    parts = [cue for _, cue in join_cues(found, max_s=max_s) if isinstance(cue, Cue)]
    assert " ".join(part.text for part in parts) == " ".join(cue.text for _, cue in found)
    spoken = {cue.text: cue for _, cue in found}
    for part in parts:
        first, *_ = names = part.text.split()
        start_s, end_s = spoken[first].start_s, spoken[names[-1]].end_s
        assert len(names) == 1 or end_s - start_s <= max_s
        assert 0 <= start_s - part.start_s <= EDGE_S + 1e-9
        assert 0 <= part.end_s - end_s <= EDGE_S + 1e-9
        gaps = [spoken[two].start_s - spoken[one].end_s for one, two in itertools.pairwise(names)]
        assert max(gaps, default=0.0) <= MAX_PAUSE_S + 1e-9
    for one, two in itertools.pairwise(parts):
        assert one.end_s <= two.start_s + 1e-9


def test_a_part_ends_at_the_longest_pause_of_its_second_half() -> None:
    words = [(0.0, 1.0), (0.9, 1.0), (0.1, 1.0), (0.5, 1.0), (0.2, 1.0), (0.3, 1.0), (0.0, 1.0)]
    parts = [(number, cue.text) for number, cue in join_cues(timed(words), max_s=6) if isinstance(cue, Cue)]
    assert parts == [(0, "w0 w1 w2"), (3, "w3 w4 w5 w6")]  # not at the pause of 0.9 s, which is in its first half


@pytest.mark.parametrize("text", ["<unk>", "spn"])
def test_no_part_goes_over_a_word_that_is_not_known(text: str) -> None:
    cues = [(1, Cue(0, 1, "a")), (2, Cue(1, 2, text)), (3, Cue(2, 3, "b")), (4, Cue(3, 3, "c")), (5, Cue(3, 4, "d"))]
    found = list(join_cues(cues, max_s=9))
    assert [cue.text if isinstance(cue, Cue) else cue.reason for _, cue in found] == [
        "a",
        Reason.BAD_METADATA_ROW,
        "b",
        Reason.BAD_METADATA_ROW,
        "d",
    ]
    assert isinstance(found[1][1], Rejected)
    assert found[1][1].message == "the aligner did not know a word at 1 s"
    assert [(cue.start_s, cue.end_s) for _, cue in found if isinstance(cue, Cue)] == [(0, 1), (2, 3), (3, 4)]


def test_a_part_reaches_to_the_middle_of_a_short_pause() -> None:
    cues = [(1, Cue(0.06, 1, "a")), (2, Cue(1.1, 1.5, "<unk>")), (3, Cue(1.75, 2, "b"))]
    parts = [cue for _, cue in join_cues(cues, max_s=9) if isinstance(cue, Cue)]
    assert [(round(part.start_s, 6), round(part.end_s, 6)) for part in parts] == [(0.03, 1.05), (1.65, 2)]


@pytest.mark.slow
def test_a_day_of_words_without_a_pause_is_divided_in_no_time() -> None:
    start_s = time.process_time()
    assert len(list(join_cues(timed([(0.0, 0.3)] * 200_000), max_s=12))) > 4000
    assert time.process_time() - start_s < 10


def test_words_that_overlap_give_no_part_with_half_a_word() -> None:
    cues = [(1, Cue(0, 5, "a")), (2, Cue(1, 2, "b")), (3, Cue(4, 4.5, "c")), (4, Cue(4.99, 6, "d"))]
    found = [cue.text if isinstance(cue, Cue) else cue.message for _, cue in join_cues(cues, max_s=12)]
    assert found == [
        "a",
        "begins at 1 s, before what is before it ends, at 5 s",
        "begins at 4 s, before what is before it ends, at 5 s",
        "d",
    ]


def test_a_ctm_of_several_recordings_or_channels_is_rejected(write: Any, read: Any) -> None:
    for other in ("talk 2 2.0 0.5 b", "walk 1 2.0 0.5 b"):
        root = write({"talk.flac": b"", "talk.ctm": f"talk 1 1.0 0.5 a\n{other}\n"})
        (bad,) = read(root, reader="transcripts", language="en", join_s=10)
        assert "2 recordings or channels in one CTM: 'talk 1, " in bad.message


CTM = """;; made by an aligner
talk 1 0.50 0.30 hello 0.98
talk 1 0.80 0.40 there
talk 1 x 0.40 lost
talk 1 4.00 0.50 good
talk 1 4.50 0.50 morning
"""


def test_words_of_a_ctm_become_parts(write: Any, read: Any) -> None:
    root = write({"talk.flac": b"", "talk.ctm": CTM})
    found = read(root, reader="transcripts", language="en", join_s=10)
    assert [one.text for one in found if isinstance(one, Utterance)] == ["hello there", "good morning"]
    assert [one.id for one in found] == ["x/talk-0000400-0001200", "x/talk.ctm:4", "x/talk-0004000-0005000"]
    assert [one.message.rpartition(": ")[2] for one in found if isinstance(one, Rejection)] == [
        "its start is 'x', expected seconds"
    ]
