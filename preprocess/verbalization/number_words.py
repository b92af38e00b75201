"""Numbers in words by num2words or ICU (CLDR's spell-out rules), and their agreement with nouns."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

import num2words
import regex

from preprocess.verbalization.conventions import CONVENTIONS
from preprocess.verbalization.conventions.convention import Money, Noun, Substitutions
from shared.languages import UNSPACED_SCRIPTS, script, unicode_scripts

if TYPE_CHECKING:
    from icu4py.messageformat import MessageFormat

Kind = Literal["cardinal", "ordinal", "year"]

# What num2words raises for numbers and forms that it does not support.
_REFUSALS = (AttributeError, IndexError, KeyError, NotImplementedError, OverflowError, TypeError, ValueError)
MAX_FRACTION_DIGITS = 20

_CARDINAL_RULES = "cardinal"
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b"))  # where ICU would let a word break


def _polish(number: int) -> int:
    return 0 if number == 1 else _slavic(number)


def _east_slavic(number: int) -> int:
    return 0 if number % 10 == 1 and number % 100 != 11 else _slavic(number)


def _slavic(number: int) -> int:
    return 1 if 2 <= number % 10 <= 4 and not 12 <= number % 100 <= 14 else 2


# The index of a noun's form by the number before it.
_PLURALS: Mapping[str, Callable[[int], int]] = {
    "none": lambda number: 0,
    "one": lambda number: int(number != 1),
    "french": lambda number: int(number >= 2),
    "polish": _polish,
    "east_slavic": _east_slavic,
    "west_slavic": lambda number: 0 if number == 1 else 1 if 2 <= number <= 4 else 2,
}


@functools.lru_cache(maxsize=1 << 14)
def number_words(number: int, *, language: str, kind: Kind = "cardinal") -> str | None:
    """The number in words; None if the library does not have it or writes it in another script."""
    convention = CONVENTIONS[language]
    if number >= convention.limit:
        return None
    if convention.thousand and kind == "cardinal" and 100_000 <= number < 1_000_000:
        thousands, rest = (number_words(part, language=language) for part in divmod(number, 1000))
        return f"{thousands} {convention.thousand}" + (f" {rest}" if number % 1000 else "")
    if not convention.words:
        return _spelled_out(number, rules=_CARDINAL_RULES, language=language) if kind == "cardinal" else None
    try:
        words = num2words.num2words(number, lang=convention.words, to=kind)
    except _REFUSALS:
        return None
    return _in_script(str(words or ""), language=language)


def _spelled_out(number: int, *, rules: str, language: str) -> str | None:
    """The number by a set of ICU's spell-out rules, such as `ordinal-feminine-genitive`; `cardinal`: the usual ones."""
    words = _formatter(rules, CONVENTIONS[language].icu).format({"n": number})
    return _in_script(words.translate(_INVISIBLE), language=language)


@functools.cache
def _formatter(rules: str, locale: str) -> MessageFormat:
    from icu4py.messageformat import MessageFormat  # 40 MB that most texts need not

    style = f",%spellout-{rules}" if rules != _CARDINAL_RULES else ""
    return MessageFormat(f"{{n,spellout{style}}}", locale)


def _in_script(words: str, *, language: str) -> str | None:
    words = substitute(" ".join(words.split()), CONVENTIONS[language].substitutions)
    return words if _letters(language).fullmatch(words) else None


def form_words(number: int, *, form: str, language: str) -> str | None:
    """A number in one of the forms that a language's rules ask for; None if it cannot be said.

    Args:
        form: empty for counting, `year`, `month` (its name), `ordinal` (num2words' own), a gender of the convention's
            `agreement`, or a set of ICU's spell-out rules, such as `ordinal-feminine-genitive`.
    """
    convention = CONVENTIONS[language]
    if form == "month":
        return convention.months[number - 1] if 1 <= number <= len(convention.months) else None
    if form == "year":
        return year_words(number, language=language) or number_words(number, language=language)
    if form == "ordinal":
        return ordinal_words(number, ending=(), language=language)
    if form and form not in convention.agreement:
        return _spelled_out(number, rules=form, language=language)
    words = number_words(number, language=language)
    return words and substitute(words, convention.agreement.get(form, ()))


def substitute(words: str, substitutions: Substitutions) -> str:
    """Apply regular-expression substitutions in order."""
    for pattern, replacement in substitutions:
        words = regex.sub(pattern, replacement, words)
    return words


@functools.cache
def _letters(language: str) -> regex.Pattern[str]:
    scripts = "".join(rf"\p{{Script={name}}}" for name in unicode_scripts(language))
    return regex.compile(rf"[{scripts}\p{{M}} '’-]+")


def counted_words(number: int, *, noun: Noun, language: str) -> str | None:
    """A number with its noun, in agreement: `two dollars`."""
    convention = CONVENTIONS[language]
    words = number_words(number, language=language)
    form = noun.forms[min(_PLURALS[convention.plural](number), len(noun.forms) - 1)]
    between = _joint(language) if not number or number % 10**6 else _of(form, convention.of) or _joint(language)
    return words and f"{substitute(words, convention.agreement.get(noun.gender, ()))}{between}{form}"


def _of(noun: str, of: str) -> str:
    if of.endswith("'"):
        return f" {of}" if noun[0] in "aeiou" else " de "
    return f" {of} " if of else ""


def _joint(language: str) -> str:
    """What stands between two words."""
    return "" if script(language) in UNSPACED_SCRIPTS else " "


def digits_words(digits: str, *, language: str) -> str | None:
    """Digits read one by one: `zero zero seven`."""
    words = [number_words(int(digit), language=language) for digit in digits]
    return _joint(language).join(word for word in words if word) if all(words) else None


def decimal_words(whole: int, *, fraction: str, language: str) -> str | None:
    """A decimal number, with the digits after the decimal sign as the language reads them: `three point one four`."""
    point = CONVENTIONS[language].point
    if point is None or len(fraction) > MAX_FRACTION_DIGITS:
        return None
    head, tail = counted_words(whole, noun=point, language=language), _say_fraction(fraction, language=language)
    return f"{head}{_joint(language)}{tail}" if head and tail else None


def quantity_words(whole: int, *, fraction: str, language: str) -> str | None:
    """A number with or without a fraction."""
    if fraction:
        return decimal_words(whole, fraction=fraction, language=language)
    return number_words(whole, language=language)


def _say_fraction(digits: str, *, language: str) -> str | None:
    convention = CONVENTIONS[language]
    if convention.places:
        places = convention.places[len(digits) - 1 : len(digits)]
        return counted_words(int(digits), noun=places[0], language=language) if places else None
    if not convention.fraction_is_number or len(digits) > 3 or not int(digits):
        return digits_words(digits, language=language)
    zeros = digits_words("0" * (len(digits) - len(digits.lstrip("0"))), language=language)
    return " ".join(part for part in (zeros, number_words(int(digits), language=language)) if part)


def money_words(whole: int, *, fraction: str, money: Money, language: str) -> str | None:
    """An amount of money: `five dollars and fifty cents`, `fifty cents`; the fraction has two digits or none."""
    hundredths = int(fraction or 0)
    if fraction and (len(fraction) != 2 or money.hundredth is None):
        return None
    parts = []
    if whole or not hundredths:
        parts.append(counted_words(whole, noun=money.unit, language=language))
    if hundredths and money.hundredth:
        parts.append(counted_words(hundredths, noun=money.hundredth, language=language))
    joint = f" {CONVENTIONS[language].money_joint} ".replace("  ", _joint(language))
    return joint.join(part for part in parts if part) if all(parts) else None


def percent_words(whole: int, *, fraction: str, language: str) -> str | None:
    """A percentage: `five percent`. Fractions take the noun's form that is neither singular nor plural, if any."""
    convention = CONVENTIONS[language]
    percent = convention.percent
    if percent is None:
        return None
    if convention.percent_first:
        words = quantity_words(whole, fraction=fraction, language=language)
        return words and f"{percent.forms[0]}{_joint(language)}{words}"
    return unit_words(whole, fraction=fraction, unit=percent, language=language)


def unit_words(whole: int, *, fraction: str, unit: Noun, language: str) -> str | None:
    """A quantity with its unit: `five kilometers`. After a fraction the noun has its fourth form, if there are four."""
    if not fraction:
        return counted_words(whole, noun=unit, language=language)
    words = decimal_words(whole, fraction=fraction, language=language)
    plural = CONVENTIONS[language].plural
    index = {1: 0, 2: _PLURALS[plural](whole) if plural == "french" else 1, 3: 1, 4: 3}[len(unit.forms)]
    return words and f"{words}{_joint(language)}{unit.forms[index]}"


def year_words(number: int, *, language: str) -> str | None:
    """A year: `nineteen eighty-four`; None if the language reads years like other numbers."""
    century = CONVENTIONS[language].century
    if century is None or not 1100 <= number < (2100 if century == "" else 2000):
        return None
    if century == "":
        return number_words(number, language=language, kind="year")
    rest = number_words(number % 100, language=language) if number % 100 else ""
    return f"{number_words(number // 100, language=language)}{century}{rest}"


def ordinal_words(number: int, *, ending: Substitutions, language: str) -> str | None:
    """An ordinal with the ending that its mark or its context requires: `third`."""
    words = number_words(number, language=language, kind="ordinal")
    return words and substitute(words, ending)
