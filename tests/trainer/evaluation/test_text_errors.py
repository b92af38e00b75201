"""Word and character errors, compared with their definition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.evaluation.text_errors import plain_words, text_errors

TEXTS = st.lists(st.sampled_from(["tiger", "lady", "the"]), max_size=5).map(" ".join)


def fewest_edits(heard: str | list[str], said: str | list[str]) -> int:
    """The fewest substitutions, insertions and deletions, by the recurrence of the definition."""
    rows = [list(range(len(heard) + 1))]
    for number, one in enumerate(said, 1):
        row = [number]
        for place, other in enumerate(heard, 1):
            row.append(min(rows[-1][place] + 1, row[-1] + 1, rows[-1][place - 1] + (one != other)))
        rows.append(row)
    return rows[-1][-1]


@given(TEXTS, TEXTS.filter(bool))
def test_errors_are_the_fewest_edits(heard: str, said: str) -> None:
    found = text_errors(heard, said=said)
    assert found.word_errors == fewest_edits(heard.split(), said.split())
    assert found.character_errors == fewest_edits(heard, said)
    assert (found.words, found.characters) == (len(said.split()), len(said))


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("The Lady, the TIGER!", "the lady the tiger"),
        ("It’s John's", "its johns"),
        ("well-known", "well known"),
        ("ﬁne Straße", "fine strasse"),
        ("سلام، دنیا", "سلام دنیا"),
        ("नमस्ते।", "नमस्ते"),
        ("…", ""),
    ],
)
def test_signs_and_case_count_for_nothing(text: str, plain: str) -> None:
    assert plain_words(text) == plain
    if plain:
        assert text_errors(text, said=plain)[::2] == (0, 0)
