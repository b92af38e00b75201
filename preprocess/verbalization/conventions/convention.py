"""The type of a language's conventions: how it writes numbers, money and abbreviations, and how it reads them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

# (regular expression, replacement) pairs, applied in order.
Substitutions = tuple[tuple[str, str], ...]


# For the patterns of rules.
HOUR, MINUTE = r"(?P<h>[01]?\d|2[0-4])", r"(?P<m>[0-5]\d)"
DAY, MONTH = r"(?P<d>0?[1-9]|[12]\d|3[01])", r"(?P<mo>0?[1-9]|1[0-2])"
YEAR = r"(?P<y>1[0-9]\d\d|20\d\d)"
YEARS = r"(?P<a>1[0-9]\d\d|20\d\d)-(?P<b>1[0-9]\d\d|20\d\d)"
RANGE = r"(?P<a>\d+)-(?P<b>\d+)"


class Noun(NamedTuple):
    """A counted noun: its forms in the order of the language's plural rule, and its gender (key of `agreement`)."""

    forms: tuple[str, ...]
    gender: str = ""


class Money(NamedTuple):
    """A currency and its hundredth: dollar and cent."""

    unit: Noun
    hundredth: Noun | None = None


class Rule(NamedTuple):
    """A construct of numbers and signs that a language says in one way: a clock time, a date, a range.

    Attributes:
        kind: what it is, for `myxtts-data read`.
        pattern: a regular expression; a named group is a number in digits or Roman numerals.
        words: what is said. `{name}` is the group's number as in counting, `{name:form}` in a form of `form_words`,
            `{name:digits}` digit by digit, `{name:=}` the group as it is written, which is then read like other text.
    """

    kind: str
    pattern: str
    words: str


def noun(forms: str, gender: str = "") -> Noun:
    """Make a noun from its forms, `dollar dollars`; `_` is a space within a form."""
    return Noun(tuple(form.replace("_", " ") for form in forms.split()), gender)


def money(unit: str, hundredth: str = "", gender: str = "", hundredth_gender: str | None = None) -> Money:
    """Make a currency; the hundredth has the gender of the unit unless it is given."""
    small = gender if hundredth_gender is None else hundredth_gender
    return Money(noun(unit, gender), noun(hundredth, small) if hundredth else None)


def months(names: str) -> str:
    """A pattern of the months that follow a number."""
    return rf" (?:{'|'.join(names.split())})\b"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Convention:
    """The conventions of one language; numbers and abbreviations without a convention are not changed."""

    words: str = ""  # num2words' name of the language
    icu: str = ""  # ICU's locale, for the forms of `rules`, and for cardinals where `words` is empty
    limit: int = 10**12  # from here on num2words is wrong, or nobody would say the number
    substitutions: Substitutions = ()  # corrections of num2words
    thousand: str = ""  # the word for thousand from 100,000 to 999,999, for languages where num2words loses a "one"

    decimal: str = ""  # the signs between whole and fraction
    thousands: str = ""  # the signs between groups
    point: Noun | None = None  # how the decimal sign is read
    places: tuple[Noun, ...] = ()  # tenths, hundredths, thousandths, in languages that name them
    fraction_is_number: bool = False  # "3,14" is "trois virgule quatorze", not "virgule un quatre"
    minus: str = ""

    plural: str = "one"  # a rule of preprocess/verbalization/number_words.py
    # gender -> changes of the number before a noun of that gender
    agreement: Mapping[str, Substitutions] = dataclasses.field(default_factory=dict)
    agrees: str = ""  # pattern of numbers that change with the gender of the noun after them
    agrees_not_before: str = ""  # words before which such numbers do not change

    rules: tuple[Rule, ...] = ()  # constructs, tried in this order before other numbers
    months: tuple[str, ...] = ()  # as they are said in a date

    percent: Noun | None = None
    percent_first: bool = False
    currencies: Mapping[str, Money] = dataclasses.field(default_factory=dict)
    units: Mapping[str, Noun] = dataclasses.field(default_factory=dict)  # km, kg, °C after a number
    money_joint: str = ""
    of: str = ""  # between round millions and a noun; with an apostrophe before vowels, otherwise "de"
    magnitudes: str = ""  # "$5 million" is five million dollars

    century: str | None = None  # 1984 is 19 + this + 84; "" where num2words knows the years
    decades: bool = False  # 1990s
    ordinals: tuple[tuple[str, Substitutions], ...] = ()  # mark after the digits -> the ordinal's ending
    dot: str = ""  # "3. x" before lower case: "ordinal", or "unsure" if the ordinal's ending is not known
    day_before: str = ""  # pattern of months after which the day is an ordinal
    day_after: str = ""  # pattern of months before which the day is an ordinal
    day_substitutions: Substitutions = ()
    unsure: str = ""  # pattern after a number that is not read as a cardinal
    unsure_words: str = ""  # pattern of words that are not said, because another case of them may be meant
    unsure_before: str = ""  # pattern before a number that is not read, whatever it is: it may ask for another case

    titles: Mapping[str, str] = dataclasses.field(default_factory=dict)  # before a name
    streets: frozenset[str] = frozenset()  # titles with another meaning after a name
    numbered: Mapping[str, str] = dataclasses.field(default_factory=dict)  # before a number
    phrases: Mapping[str, str] = dataclasses.field(default_factory=dict)  # anywhere
    closings: Mapping[str, str] = dataclasses.field(default_factory=dict)  # their full stop can also end the sentence
