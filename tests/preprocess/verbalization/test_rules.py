from __future__ import annotations

import itertools
import string
from collections.abc import Iterator

import pytest

from preprocess.verbalization import numbers, rules
from preprocess.verbalization.conventions import CONVENTIONS
from preprocess.verbalization.conventions.convention import Convention, Rule
from preprocess.verbalization.number_words import form_words, number_words
from preprocess.verbalization.readings import Reading
from preprocess.verbalization.verbalize import verbalize

BUILT_IN = {"", "=", "digits", "year", "month", "ordinal"}


def forms_of(convention: Convention) -> set[str]:
    parts = itertools.chain.from_iterable(string.Formatter().parse(rule.words) for rule in convention.rules)
    return {form for _, name, form, _ in parts if name and form is not None}


def forms() -> Iterator[tuple[str, str]]:
    for language, convention in CONVENTIONS.items():
        for form in sorted(forms_of(convention) - BUILT_IN - convention.agreement.keys()):
            yield language, form


@pytest.fixture
def convention(monkeypatch: pytest.MonkeyPatch) -> Iterator[Convention]:
    """English with rules of its own."""
    own = Convention(
        words="en",
        rules=(
            Rule("range", r"(?P<a>\d+)-(?P<b>\d+)(?= days)", "{a:=} to {b:=}"),
            Rule("roman", r"(?<=Part )(?P<r>[IVXLCDM]+)", "{r}"),
            Rule("code", r"#(?P<n>\d+)", "number {n:digits}"),
            Rule("year", r"(?<=in )(?P<y>\d{4})", "{y:year}"),
        ),
        century="",
        agrees="one$",
    )
    caches = rules._compiled_rules, numbers._verbalizer, number_words
    monkeypatch.setitem(CONVENTIONS, "eng_Latn", own)
    for cache in caches:
        cache.cache_clear()
    yield own
    for cache in caches:
        cache.cache_clear()


def read(text: str) -> tuple[str, list[Reading]]:
    readings: list[Reading] = []
    return verbalize(text, language="eng_Latn", readings=readings), readings


@pytest.mark.parametrize(("language", "form"), list(forms()))
def test_a_form_that_a_rule_asks_for_is_one_that_the_language_has(language: str, form: str) -> None:
    """ICU says its default where it has no such rules: without a difference from it, a form does not exist."""
    numbers_of_all_kinds = (*range(1, 200), *range(1900, 2030))
    said = [
        (form_words(number, form=form, language=language), number_words(number, language=language))
        for number in numbers_of_all_kinds
    ]
    assert any(words is not None and words != default for words, default in said)


@pytest.mark.parametrize("language", [code for code in CONVENTIONS if "month" in str(CONVENTIONS[code].rules)])
def test_a_language_with_dates_in_digits_has_twelve_months(language: str) -> None:
    assert len(set(CONVENTIONS[language].months)) in (0, 12)


def test_every_roman_numeral_has_the_value_that_adding_and_taking_away_gives() -> None:
    for number in range(1, 4000):
        thousands, hundreds, tens, ones = (number // 10**place % 10 for place in (3, 2, 1, 0))
        numeral = "M" * thousands
        for digit, (one, five, ten) in zip((hundreds, tens, ones), ("CDM", "XLC", "IVX"), strict=True):
            numeral += [
                "",
                one,
                one * 2,
                one * 3,
                one + five,
                five,
                five + one,
                five + one * 2,
                five + one * 3,
                one + ten,
            ][digit]
        assert rules._roman(numeral) == number


@pytest.mark.parametrize("letters", ["IIII", "VV", "IC", "XM", "IXI", "MMMMCMIIX", "VX", "DCD"])
def test_letters_that_no_roman_would_write_are_no_number(letters: str) -> None:
    assert rules._roman(letters) is None


@pytest.mark.usefixtures("convention")
class TestRules:
    def test_what_was_read_is_told_with_its_kind(self) -> None:
        text, readings = read("Part IV of #07 in 1984")
        assert text == "Part four of number zero seven in nineteen eighty-four"
        assert readings == [
            Reading("IV", "four", "roman"),
            Reading("#07", "number zero seven", "code"),
            Reading("1984", "nineteen eighty-four", "year"),
        ]

    def test_of_a_range_both_numbers_are_read_or_none(self) -> None:
        assert read("3-5 days")[0] == "three to five days"
        assert read("1-1 days")[0] == "1-1 days"  # "one" would have to agree with what follows

    @pytest.mark.parametrize("text", ["x3-5 days", "3-5 daysx 3-5-7 days", "Part IIII", "Part IVth"])
    def test_a_part_of_a_word_or_of_a_longer_number_is_not_read(self, text: str) -> None:
        assert read(text)[1] == []
