"""How a language writes numbers, money and abbreviations, and how it says them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

# Regular expressions and what stands for them, in order.
Substitutions = tuple[tuple[str, str], ...]


class Noun(NamedTuple):
    """What is counted: its forms in the order of the language's plural rule, and the key of the number's agreement."""

    forms: tuple[str, ...]
    gender: str = ""


class Money(NamedTuple):
    """A currency and its hundredth."""

    unit: Noun
    hundredth: Noun | None = None


def noun(forms: str, gender: str = "") -> Noun:
    """`dollar dollars` as a noun; a `_` stands for a space within a form."""
    return Noun(tuple(form.replace("_", " ") for form in forms.split()), gender)


def money(unit: str, hundredth: str = "", gender: str = "", hundredth_gender: str | None = None) -> Money:
    """A currency whose hundredth is of the same gender unless said."""
    small = gender if hundredth_gender is None else hundredth_gender
    return Money(noun(unit, gender), noun(hundredth, small) if hundredth else None)


def months(names: str) -> str:
    """A pattern of the months behind a number."""
    return rf" (?:{'|'.join(names.split())})\b"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Convention:
    """What is known of one language; what is not known is left alone."""

    words: str = ""  # num2words' name of it
    limit: int = 10**12  # from here on num2words is wrong, or nobody would say it
    substitutions: Substitutions = ()  # where num2words writes what the language does not
    thousand: str = ""  # from 100,000 to 999,999 said after how many there are: num2words loses their one

    decimal: str = ""  # the signs between whole and fraction
    thousands: str = ""  # the signs between groups
    point: Noun | None = None  # what is said for the decimal sign
    places: tuple[Noun, ...] = ()  # tenths, hundredths, thousandths, where these are said
    fraction_is_number: bool = False  # "3,14" is "trois virgule quatorze", not "virgule un quatre"
    minus: str = ""

    plural: str = "one"  # a rule of preprocess/numbers.py
    agreement: Mapping[str, Substitutions] = dataclasses.field(
        default_factory=dict
    )  # of the number with a noun, by gender
    agrees: str = ""  # numbers that end so change before a noun; which way only its gender would tell
    agrees_not_before: str = ""

    percent: Noun | None = None
    percent_first: bool = False
    currencies: Mapping[str, Money] = dataclasses.field(default_factory=dict)
    money_joint: str = ""
    of: str = ""  # between round millions and a noun; with an apostrophe where a vowel takes it, else "de"
    magnitudes: str = ""  # "$5 million" is five million dollars

    century: str | None = None  # 1984 is 19 + this + 84; "" where num2words knows the years
    decades: bool = False  # 1990s
    ordinals: tuple[tuple[str, Substitutions], ...] = ()  # the mark behind the digits, and the ordinal's ending then
    dot: str = ""  # "3. x" before small letters: "ordinal" is read as one, of an "unsure" one the ending is not known
    ordinals_after: tuple[tuple[str, str], ...] = ()  # before "3. X", and what the ordinal ends in then
    day_before: str = ""  # months behind which the day is an ordinal
    day_after: str = ""  # months before which it is one
    day_substitutions: Substitutions = ()
    unsure: str = ""  # what follows a number that is not said as a cardinal

    titles: Mapping[str, str] = dataclasses.field(default_factory=dict)  # before a name
    streets: frozenset[str] = frozenset()  # titles that mean something else behind a name
    numbered: Mapping[str, str] = dataclasses.field(default_factory=dict)  # before a number
    phrases: Mapping[str, str] = dataclasses.field(default_factory=dict)  # anywhere
    closings: Mapping[str, str] = dataclasses.field(default_factory=dict)  # whose full stop may end the sentence too
