"""Finds numbers in a text, with the signs that belong to them, and parses their digits."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

import regex

from preprocess.verbalization.conventions.convention import Convention

# Longer digit strings can be telephone numbers, unless they are round.
MAX_UNGROUPED_DIGITS = 6
MAX_WRITTEN = 40

_NEVER = "(?!)"
_RAISED = regex.compile("(?=[\u00b2\u00b3])")


class Number(NamedTuple):
    """A parsed number: ASCII digits before and after the decimal sign; `plain` if it was written as digits only."""

    whole: str
    fraction: str
    plain: bool

    @property
    def value(self) -> int:
        return int(self.whole)

    @property
    def is_quantity(self) -> bool:
        """False for codes and telephone numbers, which are not read as one number."""
        if self.plain and len(self.whole) > MAX_UNGROUPED_DIGITS and not self.whole.endswith("000"):
            return False
        return self.whole == "0" or not self.whole.startswith("0")


def number_pattern(convention: Convention) -> regex.Pattern[str]:
    """A pattern that finds numbers with the signs that belong to them.

    Digits joined by signs are one match, whatever they mean: 1,234.5 and 12:30 and 3-4.
    """
    fraction = f"(?:[{convention.decimal}]\\d+)?" if convention.decimal else ""
    joined = (
        rf"(?:\d{{1,3}}(?: \d{{3}}){{1,3}}(?! ?\d){fraction}(?![^\w\s]\d)"  # in groups, or two numbers
        r"|\d+(?:[^\w\s]\d+)*)"
    )
    marks = "|".join(mark for mark, _ in convention.ordinals) or _NEVER
    currency = rf"{_any_of(convention.currencies)}|\p{{Sc}}"
    decade = "'?s" if convention.decades else _NEVER
    dot = "[.]" if convention.dot else _NEVER
    behind = (
        rf"(?P<currency>{currency})(?![\p{{L}}\p{{N}}/])",
        rf" (?P<currency>{currency})(?![\p{{L}}\p{{N}}/]| ?\d)",  # of $5 the sign is not the number's before it
        r" ?(?P<percent>[%٪])(?!-?\p{L})",  # 50%ige
        rf" ?(?P<unit>{_any_of(protected_unit(unit) for unit in convention.units)})(?![\p{{L}}\p{{N}}/^])",
        rf"(?P<mark>{marks})(?![\p{{L}}\p{{N}}])",
        rf"(?P<decade>{decade})(?![\p{{L}}\p{{N}}])",
        rf"(?P<dot>{dot})(?= ?\p{{L}})",
        rf"(?(sign)(?P<magnitude> (?:{convention.magnitudes or _NEVER})\b)|{_NEVER})",
    )
    return regex.compile(
        r"(?P<minus>(?<!\S)-(?=\p{Sc}?\d))?(?:(?<!\w)(?:(?P<sign>(?:US|R)?\p{Sc}) ?|(?P<sign>[%٪])))?"
        rf"(?P<number>{joined})(?:{'|'.join(behind)})?"
    )


def protected_unit(unit: str) -> str:
    """A unit as it is after `protect_numbers` and NFKC: m² is m^2."""
    return unicodedata.normalize("NFKC", _RAISED.sub("^", unit))


def _any_of(words: Iterable[str]) -> str:
    return "|".join(map(regex.escape, sorted(words, key=len, reverse=True))) or _NEVER


def quantity_pattern(convention: Convention) -> regex.Pattern[str]:
    """A pattern of the language's quantities: digits with or without groups, and a fraction."""
    wholes = [rf"\d{{1,3}}(?:{regex.escape(sign)}\d{{3}})+" for sign in convention.thousands]
    if "," in convention.thousands:
        wholes.append(r"\d{1,2}(?:,\d{2})+,\d{3}")  # lakh and crore
    wholes.append(r"\d+")
    fraction = rf"[{convention.decimal}](?P<fraction>\d+)" if convention.decimal else "(?P<fraction>(?!))"
    return regex.compile(rf"(?P<whole>{'|'.join(wholes)})(?:{fraction})?")


def parse_number(written: str, *, shape: regex.Pattern[str]) -> Number | None:
    """Parse a number; None if the language does not write quantities like this."""
    if len(written) > MAX_WRITTEN:
        return None
    digits = "".join(str(int(character)) if character.isdecimal() else character for character in written)
    found = shape.fullmatch(digits)
    if found is None:
        return None
    whole = "".join(filter(str.isdecimal, found["whole"]))
    return Number(whole, found["fraction"] or "", plain=digits == whole)
