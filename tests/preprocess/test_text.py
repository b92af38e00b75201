from __future__ import annotations

import unicodedata

import pytest
import sacremoses
from hypothesis import given
from hypothesis import strategies as st

from preprocess.text import prepare_text

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@pytest.mark.parametrize(
    ("text", "prepared"),
    [
        ("“curly” ‘quotes’", "\"curly\" 'quotes'"),
        ("„deutsch“", '"deutsch"'),
        ("«guillemets» «\u00a0à la française\u00a0»", '"guillemets" "à la française"'),
        ("a – b — c", "a - b - c"),
        ("wait…", "wait..."),
        ("it´s", "it's"),
        ("ﬁne Ｆｕｌｌ", "fine Full"),
        ("cafe\u0301", "café"),
        ("a\u00a0b\u3000c\td\ne", "a b c d e"),
        ("a\x00b\x07c\x1b[0m", "a b c [0m"),
        ("a\u200bb\u202ec\ufeff", "a b c"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("क्\u200dष", "क्\u200dष"),
        ("ي ك", "ي ك"),
        ("  two   spaces  ", "two spaces"),
        ("", ""),
        (" \n\x00", ""),
        ("a\u2028b\u2029c", "a b c"),
        ('"Keep walking.', '"Keep walking.'),
        ("\U0001f600 ok", "\U0001f600 ok"),
    ],
)
def test_text_is_prepared_as_nllb_was_trained(text: str, prepared: str) -> None:
    assert prepare_text(text) == prepared


@given(texts)
def test_the_steps_are_those_of_fairseqs_preparation(text: str) -> None:
    """Moses, non-printing characters to spaces, NFKC: its order, with sacremoses' own function."""
    moses = sacremoses.MosesPunctNormalizer(lang="en").normalize(text)
    printing = "".join(c if c in "\u200c\u200d" or unicodedata.category(c)[0] != "C" else " " for c in moses)
    assert prepare_text(text) == " ".join(unicodedata.normalize("NFKC", printing).split())


@given(texts)
def test_what_is_left_is_printing_and_singly_spaced(text: str) -> None:
    prepared = prepare_text(text)
    assert all(c in "\u200c\u200d" or unicodedata.category(c)[0] != "C" for c in prepared)
    assert prepared == " ".join(prepared.split())
    assert unicodedata.is_normalized("NFKC", prepared)


@given(st.text(st.characters(categories=["L", "M", "Nd", "Zs"]), max_size=60))
def test_letters_digits_and_spaces_are_prepared_once_and_for_all(text: str) -> None:
    once = prepare_text(text)
    assert prepare_text(once) == once


def test_signs_that_only_nfkc_makes_are_not_moses_punctuation_yet() -> None:
    """So a second preparation may change a text: records hold what was prepared once, and it is never done twice."""
    once = prepare_text("﹙ a")
    assert once == "( a"
    assert prepare_text(once) == "(a"
