"""Reads the constructs of a language by its `rules`: clock times, dates, ranges, centuries."""

from __future__ import annotations

import functools
import string
from typing import NamedTuple

import regex

from preprocess.verbalization.conventions import CONVENTIONS
from preprocess.verbalization.conventions.convention import Rule
from preprocess.verbalization.number_words import digits_words, form_words
from preprocess.verbalization.readings import Reading
from shared.languages import UNSPACED_SCRIPTS, script

# Forms of a group besides those of `form_words`.
AS_WRITTEN = "="
DIGITS = "digits"  # one by one

_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
# In these scripts, a number stands next to letters.
_JOINING_SCRIPTS = UNSPACED_SCRIPTS | {"Hang"}
_NO_DIGIT_BEFORE, _NO_DIGIT_AFTER = r"(?<!\d)(?<!\d[.,:/'٫٬-])", r"(?!\d|[.,:/'٫٬-]\d)"
_NO_LETTER_BEFORE, _NO_LETTER_AFTER = r"(?<![\p{L}\p{M}])", r"(?![\p{L}\p{M}])"


def apply_rules(text: str, *, language: str, readings: list[Reading], whole: bool) -> str:
    """Write every construct that one of the language's rules knows in words.

    Args:
        readings: takes what was read.
        whole: True to change no construct whose rule keeps digits.
    """
    for rule in _compiled_rules(language):
        read = functools.partial(_replacement, rule, language=language, readings=readings, whole=whole)
        text = rule.pattern.sub(read, text)
    return text


class _CompiledRule(NamedTuple):
    kind: str
    pattern: regex.Pattern[str]
    words: tuple[tuple[str, str], ...]  # text, and the group whose number follows; empty at the end
    forms: dict[str, str]  # of each group


@functools.cache
def _compiled_rules(language: str) -> tuple[_CompiledRule, ...]:
    return tuple(_compiled(rule, language=language) for rule in CONVENTIONS[language].rules)


def _compiled(rule: Rule, *, language: str) -> _CompiledRule:
    is_spaced = script(language) not in _JOINING_SCRIPTS
    before = _NO_DIGIT_BEFORE + _NO_LETTER_BEFORE * is_spaced
    after = _NO_DIGIT_AFTER + _NO_LETTER_AFTER * is_spaced
    parts = [(before, name or "", form or "") for before, name, form, _ in string.Formatter().parse(rule.words)]
    return _CompiledRule(
        rule.kind,
        regex.compile(f"{before}(?:{rule.pattern}){after}"),
        tuple((text, name) for text, name, _ in parts),
        {name: form for _, name, form in parts if name},
    )


def _replacement(
    rule: _CompiledRule, match: regex.Match[str], *, language: str, readings: list[Reading], whole: bool
) -> str:
    """What is said for a match; the match itself if one of its numbers has no words."""
    said = []
    for text, name in rule.words:
        words = _said(match[name], form=rule.forms[name], language=language) if name else ""
        if words is None or (whole and any(map(str.isdecimal, words))):
            return match[0]
        said += [text, words]
    readings.append(Reading(match[0], "".join(said), rule.kind))
    return readings[-1].words


def _said(written: str, *, form: str, language: str) -> str | None:
    if form == AS_WRITTEN:
        return written
    if form == DIGITS:
        return digits_words("".join(filter(str.isdecimal, written)), language=language)
    number = _roman(written) if written[0] in _ROMAN else int("".join(filter(str.isdecimal, written)))
    return None if number is None else form_words(number, form=form, language=language)


def _roman(numeral: str) -> int | None:
    """The value of a Roman numeral; None if Romans would write it otherwise."""
    values = [_ROMAN[letter] for letter in numeral]
    total = sum(-value if value < max(values[place:]) else value for place, value in enumerate(values))
    return total if _as_roman(total) == numeral else None


def _as_roman(number: int) -> str:
    signs = ("M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I")
    values = (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1)
    numeral = ""
    for sign, value in zip(signs, values, strict=True):
        count, number = divmod(number, value)
        numeral += sign * count
    return numeral
