"""Verbalization: numbers and common abbreviations of a text written out in words."""

from __future__ import annotations

import re

import regex

from preprocess.verbalization.abbreviations import expand_abbreviations
from preprocess.verbalization.conventions import CONVENTIONS, has_number_words
from preprocess.verbalization.numbers import verbalize_numbers
from preprocess.verbalization.readings import Reading
from preprocess.verbalization.rules import apply_rules

_NUMERALS = regex.compile(r"[\p{Nd}\p{No}]+")

_ANY_DIGIT = re.compile("[\\d\u00b2\u00b3\u00b9\u2070-\u2079]")
# NO-BREAK, FIGURE, THIN and NARROW NO-BREAK SPACE: between digits they group or separate them.
_FIXED_SPACES = "\u00a0\u2007\u2009\u202f"
_GROUPED = regex.compile(rf"(?<!\d)\d{{1,3}}(?:[{_FIXED_SPACES}]\d{{3}}){{1,3}}(?![{_FIXED_SPACES}]?\d)")
_FIXED_SPACE = regex.compile(f"[{_FIXED_SPACES}]")
_BETWEEN_DIGITS = regex.compile(rf"(?<=\d)[{_FIXED_SPACES}](?=\d)")

_MINUS = regex.compile(r"(?<!\S)\u2212(?=\p{Sc}?\d)")  # a minus sign, before its number
_FRACTION = regex.compile(r"(?<=\d)(?=[\u00bc-\u00be\u2150-\u215f\u2189])")
_RAISED = "\u00b2\u00b3\u00b9\u2070\u2074-\u2079"
_POWER = regex.compile(rf"(?<=[^\W{_RAISED}])(?=[{_RAISED}])|(?<=\d)(?=[\u2080-\u2089])")
_NUMBER_SIGN = regex.compile(r"(?:№|\b[nN]\.?º)(?=\s?\d)")


def verbalize(text: str, *, language: str, readings: list[Reading] | None = None) -> str:
    """Write the abbreviations and numbers of a prepared text in words; uncertain ones stay as they are.

    Args:
        readings: takes what was read.
    """
    first: list[Reading] = []
    text = expand_abbreviations(text, language=language, readings=first)
    then: list[Reading] = []
    if has_number_words(language):
        text, then = _read_numbers(text, language=language)
    if readings is not None:
        readings += first + then
    return text


def _read_numbers(text: str, *, language: str) -> tuple[str, list[Reading]]:
    read, readings = _read(text, language=language, whole=False)
    if count_numbers(read):  # of a range, both numbers are read or none
        return _read(text, language=language, whole=True)
    return read, readings


def _read(text: str, *, language: str, whole: bool) -> tuple[str, list[Reading]]:
    readings: list[Reading] = []
    text = apply_rules(text, language=language, readings=readings, whole=whole)
    return verbalize_numbers(text, language=language, readings=readings), readings


def count_numbers(text: str) -> int:
    """The number of runs of digits, of any script, in a text."""
    return len(_NUMERALS.findall(text))


def words_with_digits(text: str, *, language: str) -> list[str]:
    """The words of a prepared text that have digits left; none in a language whose numbers are never put in words."""
    if not has_number_words(language):
        return []
    return [word for word in text.split() if _NUMERALS.search(word)]


def protect_numbers(text: str, *, language: str) -> str:
    """Rewrite the numbers of a raw text to keep their meaning through Moses' punctuation normalisation and NFKC.

    Moses would write 10\u00a0000 as 10.000, and NFKC 2½ as 21⁄2 and 10² as 102. A language whose numbers are not
    verbalized is left unchanged.
    """
    if text.isascii() or not _ANY_DIGIT.search(text) or not has_number_words(language):
        return text
    group = CONVENTIONS[language].thousands[:1]
    text = _GROUPED.sub(lambda match: _FIXED_SPACE.sub(group, match[0]), text)
    text = _BETWEEN_DIGITS.sub(" ", text)
    text = _MINUS.sub("-", text)
    text = _FRACTION.sub(" ", text)
    text = _POWER.sub("^", text)
    return _NUMBER_SIGN.sub("n°", text)
