"""Verbalizes the numbers of a text: chooses which ones, and reads them as cardinals, ordinals, years, money, percents.

Numbers without one certain reading stay as they are: clock times, dates, ranges, fractions, telephone numbers.
Cardinals are read as in counting, because the case and the gender that the sentence requires are not known here.
"""

from __future__ import annotations

import functools

import regex

from preprocess.verbalization.conventions import CONVENTIONS, has_number_words
from preprocess.verbalization.conventions.codes import BETWEEN, CODED, MIN_DIGITS
from preprocess.verbalization.conventions.convention import Substitutions
from preprocess.verbalization.number_parser import (
    Number,
    number_pattern,
    parse_number,
    protected_unit,
    quantity_pattern,
)
from preprocess.verbalization.number_words import (
    decimal_words,
    digits_words,
    money_words,
    number_words,
    ordinal_words,
    percent_words,
    unit_words,
    year_words,
)
from preprocess.verbalization.readings import Reading
from shared.languages import UNSPACED_SCRIPTS, script

# Numbers that begin with a zero are not quantities; up to this length they are read digit by digit.
MAX_SPELLED_DIGITS = 20
MAX_BEFORE = 40  # characters before a number that decide how it is read

# Powers, products, other currencies, units in lower case, 12h30: not read as the number alone.
_NOT_ALONE_BEFORE = r"[\^⁄+×#±]|(?<!\d)\p{Sc} ?-?|(?<!\w)[.,]|\d\p{L}{1,3}"
_NOT_ALONE_AFTER = regex.compile(r" ?[%٪‰°′″×^⁄=]|\p{Sc}| \p{Sc}(?! ?\d)| \d+⁄|\p{Ll}")
# 1. 5.
_DATE = regex.compile(r"\. ?\d")
# Amounts with a magnitude: $5M, 5 mil millones.
_LARGER = regex.compile(
    r"[\w%]| (?i:mil\b|mil[ijl]|mrd|mio|mln|bil[ijlh][ijoõ]|bn\b|tril|tys|tisíc|tausend|duizend|thousand|bin\b|ezer)"
    r"| (?i:тыс|тис|мил|мл|міл)| (?:هزار|میلی|만|억)"
)

_KINDS = {"percent": "percent", "currency": "money", "unit": "unit", "mark": "ordinal", "decade": "decade"}

# In these scripts, letters after a number belong to its word: 오월, পাঁচটি.
_SUFFIXING_SCRIPTS = UNSPACED_SCRIPTS | {"Hang", "Beng", "Knda", "Telu"}


def verbalize_numbers(text: str, *, language: str, readings: list[Reading] | None = None) -> str:
    """Write every number that has one certain reading in words.

    Args:
        readings: takes what was read.
    """
    if not has_number_words(language):
        return text
    verbalizer, found = _verbalizer(language), [] if readings is None else readings
    return verbalizer.pattern.sub(lambda match: verbalizer.replacement(match, readings=found), text)


@functools.cache
def _verbalizer(language: str) -> _Verbalizer:
    return _Verbalizer(language)


class _Verbalizer:
    """Verbalizes the numbers of one language."""

    def __init__(self, language: str):
        self.language = language
        self.convention = CONVENTIONS[language]
        self.pattern = number_pattern(self.convention)
        self.shape = quantity_pattern(self.convention)
        self.units = {protected_unit(written): noun for written, noun in self.convention.units.items()}
        unsure = [_NOT_ALONE_BEFORE, *filter(None, [self.convention.unsure_before])]
        self.unsure_before = regex.compile(rf"(?:{'|'.join(unsure)})$")
        coded = CODED.get(language)
        self.coded = regex.compile(rf"\b(?i:{coded}){BETWEEN}$") if coded else None
        self.separator = "" if script(language) in _SUFFIXING_SCRIPTS else " "

    def replacement(self, match: regex.Match[str], *, readings: list[Reading]) -> str:
        """The words of a matched number, separated from letters next to it; or the match itself if it is uncertain."""
        text, start, end = match.string, match.start(), match.end()
        number = parse_number(match["number"], shape=self.shape)
        before = text[max(0, start - MAX_BEFORE) : start]
        if number is None or self.unsure_before.search(before) or self._is_code(number, before=before):
            return match[0]
        words = self._signed(number, match)
        unsure = self.convention.unsure_words
        if words is None or (unsure and regex.search(unsure, words)):
            return match[0]
        readings.append(Reading(match[0], words, self._kind(number, match)))
        left = self.separator if _is_letter(before[-1:]) else ""
        right = self.separator if _is_letter(text[end : end + 1]) else ""
        return f"{left}{words}{right}"

    def _is_code(self, number: Number, *, before: str) -> bool:
        """Whether a number names a thing instead of counting."""
        is_long = number.plain and len(number.whole) >= MIN_DIGITS
        return is_long and self.coded is not None and self.coded.search(before) is not None

    def _signed(self, number: Number, match: regex.Match[str]) -> str | None:
        words = self._by_sign(number, match) if number.is_quantity else self._code(number, match)
        if words is None or not match["minus"]:
            return words
        return f"{self.convention.minus} {words}" if self.convention.minus else None

    def _code(self, number: Number, match: regex.Match[str]) -> str | None:
        """A number that begins with a zero, such as 007, digit by digit."""
        stands_alone = match[0] == match["number"] and not self._is_unsure(match)
        if not stands_alone or not number.plain or number.whole[0] != "0" or len(number.whole) > MAX_SPELLED_DIGITS:
            return None
        return digits_words(number.whole, language=self.language)

    def _by_sign(self, number: Number, match: regex.Match[str]) -> str | None:
        if match["percent"] or match["sign"] in ("%", "٪"):
            return percent_words(number.value, fraction=number.fraction, language=self.language)
        if match["sign"] or match["currency"]:
            return self._money(number, match)
        if match["unit"]:
            unit = self.units[match["unit"]]
            return unit_words(number.value, fraction=number.fraction, unit=unit, language=self.language)
        if match["mark"]:
            return self._marked(number, mark=match["mark"])
        if match["decade"]:
            return self._decade(number)
        return self._in_context(number, match)

    def _money(self, number: Number, match: regex.Match[str]) -> str | None:
        money = self.convention.currencies.get(match["sign"] or match["currency"])
        if money is None or (match["sign"] and (match["currency"] or match["unit"])):
            return None
        if match["magnitude"]:
            words = self._cardinal(number)
            return words and f"{words}{match['magnitude']} {money.unit.forms[-1]}"
        if _LARGER.match(match.string, match.end()):
            return None
        return money_words(number.value, fraction=number.fraction, money=money, language=self.language)

    def _marked(self, number: Number, *, mark: str) -> str | None:
        for pattern, ending in self.convention.ordinals:
            if not number.fraction and regex.fullmatch(pattern, mark):
                return ordinal_words(number.value, ending=ending, language=self.language)
        return None

    def _decade(self, number: Number) -> str | None:
        if not number.plain or number.value % 10 or len(number.whole) not in (2, 4):
            return None
        words = self._cardinal(number)
        return words and (f"{words[:-1]}ies" if words.endswith("y") else f"{words}s")

    def _in_context(self, number: Number, match: regex.Match[str]) -> str | None:
        ending = self._ending_of_ordinal(number, match)
        if ending is not None:
            return ordinal_words(number.value, ending=ending, language=self.language)
        words = None if self._is_unsure(match) else self._cardinal(number)
        if words is None or self._agrees(words, number, match):
            return None
        return words + (match["dot"] or "")

    def _cardinal(self, number: Number) -> str | None:
        if number.fraction:
            return decimal_words(number.value, fraction=number.fraction, language=self.language)
        is_year = number.plain and len(number.whole) == 4
        year = year_words(number.value, language=self.language) if is_year else None
        return year or number_words(number.value, language=self.language)

    def _ending_of_ordinal(self, number: Number, match: regex.Match[str]) -> Substitutions | None:
        """The ending of an ordinal in this context; None if the number is not certainly an ordinal."""
        if not number.plain or not 1 <= number.value <= 99:
            return None
        if match["dot"]:
            return () if self._is_ordinal_by_its_dot(match) else None
        if number.value > 31:
            return None
        before = match.string[max(0, match.start() - MAX_BEFORE) : match.start()]
        convention = self.convention
        if convention.day_before and regex.search(convention.day_before, before):
            return ()
        is_day = convention.day_after and regex.match(convention.day_after, match.string, pos=match.end("number"))
        return convention.day_substitutions if is_day else None

    def _is_ordinal_by_its_dot(self, match: regex.Match[str]) -> bool:
        return self.convention.dot == "ordinal" and _sentence_continues(match) and not self._is_named_unsure(match)

    def _is_unsure(self, match: regex.Match[str]) -> bool:
        if match["dot"]:
            return _sentence_continues(match) or self._is_named_unsure(match)
        if self.convention.dot and _DATE.match(match.string, match.end()):
            return True
        return _NOT_ALONE_AFTER.match(match.string, match.end()) is not None or self._is_named_unsure(match)

    def _is_named_unsure(self, match: regex.Match[str]) -> bool:
        unsure = self.convention.unsure
        return bool(unsure) and regex.match(unsure, match.string, pos=match.end("number")) is not None

    def _kind(self, number: Number, match: regex.Match[str]) -> str:
        """What a number was read as, by the signs that belong to it and by its context."""
        if match["sign"]:
            return "percent" if match["sign"] in ("%", "٪") else "money"
        if signs := [kind for group, kind in _KINDS.items() if match[group]]:
            return signs[0]
        if not number.is_quantity:
            return "code"
        if self._ending_of_ordinal(number, match) is not None:
            return "ordinal"
        is_year = number.plain and len(number.whole) == 4 and year_words(number.value, language=self.language)
        return "decimal" if number.fraction else "year" if is_year else "number"

    def _agrees(self, words: str, number: Number, match: regex.Match[str]) -> bool:
        """True if the number must agree with the gender of the word that follows, which is not known."""
        convention, text, end = self.convention, match.string, match.end()
        if not convention.agrees or number.fraction or match["dot"]:
            return False
        if text[end : end + 1] != " " or not _is_letter(text[end + 1 : end + 2]):
            return False
        exempt = convention.agrees_not_before and regex.match(convention.agrees_not_before, text, pos=end)
        return not exempt and regex.search(convention.agrees, words) is not None


def _sentence_continues(match: regex.Match[str]) -> bool:
    """True if the sentence continues after the dot."""
    return match.string[match.end() : match.end() + 2].lstrip()[:1].islower()


def _is_letter(character: str) -> bool:
    return regex.fullmatch(r"[\p{L}\p{M}]", character) is not None
