"""The language of texts, on sentences in 23 languages that were written for the reading of numbers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from preprocess import text_language as module
from preprocess.text_language import MIN_TEXT_LANGUAGE, TextLanguage, check_text_language, text_language
from shared.errors import UserError
from shared.languages import CODES

pytestmark = pytest.mark.slow

TABLES = sorted(Path("tests/preprocess/verbalization/number_tables").glob("*.tsv"))


def sentences() -> Iterator[tuple[str, str]]:
    """The sentences with their languages, their numbers in words."""
    for path in TABLES:
        for line in path.read_text(encoding="utf-8").splitlines():
            yield path.stem, line.split("\t")[2].partition("|")[0]


def likelihood(text: str, language: str) -> float:
    found = text_language(text, language=language)
    assert found is not None
    return found.likelihood


def test_no_sentence_is_below_the_bound_in_its_language_and_few_are_above_it_in_another() -> None:
    drawn, languages = random.Random(1), [path.stem for path in TABLES]
    right, wrong = [], []
    for language, text in sentences():
        other = drawn.choice([one for one in languages if one != language])
        right.append(likelihood(text, language))
        wrong.append(likelihood(text, other))
    assert len(right) > 2_500
    assert min(right) >= MIN_TEXT_LANGUAGE
    assert np.mean(np.array(wrong) >= MIN_TEXT_LANGUAGE) < 0.01


def test_the_likeliest_language_is_named() -> None:
    assert text_language("Das ist ein ganzer Satz.", language="deu_Latn") == TextLanguage(1.0, "de")
    found = text_language("This is a whole sentence.", language="deu_Latn")
    assert found is not None
    assert found.likeliest == "en"
    assert found.likelihood < MIN_TEXT_LANGUAGE


@pytest.mark.parametrize("text", ["", "5", "!", "OK"])
def test_a_text_that_says_nothing_is_left(text: str) -> None:
    assert likelihood(text, "deu_Latn") > 10 * MIN_TEXT_LANGUAGE


@pytest.mark.parametrize("language", ["nob_Latn", "nno_Latn"])
def test_both_written_forms_of_norwegian_are_one_language(language: str) -> None:
    assert text_language("Dette er ikke en dansk setning, sa han.", language=language) == TextLanguage(1.0, "no")


@pytest.mark.parametrize("language", ["kbp_Latn", "ckb_Arab", "ace_Arab"])
def test_a_language_that_the_classifier_does_not_know_has_no_likelihood(language: str) -> None:
    assert text_language("ئەمە ڕستەیەکی کوردییە", language=language) is None


def test_languages_that_the_classifier_names_otherwise_are_known() -> None:
    assert text_language("Mũndũ ũrĩa ũthomaga nĩ amenyaga maũndũ maingĩ", language="kik_Latn") == TextLanguage(
        1.0, "kik"
    )
    assert sum(text_language("x", language=code) is not None for code in CODES) == 121


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    check_text_language()
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(UserError, match=r"pip install 'myxtts\[text-language\]'"):
        check_text_language()
