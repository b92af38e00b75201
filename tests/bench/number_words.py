"""num2words and ICU side by side: whose cardinals are those of the number tables, before any rule of ours.

In each sentence of the kinds `cardinal` and `year` that has one whole number, a library's words are written for the
digits. `used` is the library that the language's convention names.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import num2words
import regex
from icu4py.messageformat import MessageFormat

from preprocess.verbalization.conventions import CONVENTIONS
from tests.preprocess.verbalization.test_number_tables import TABLES, Row, plain, rows_of

KINDS = ("cardinal", "year")
_WHOLE = regex.compile(r"(?<!\d)(?:\d{1,3}(?:[.,\u00a0\u202f ]\d{3})+|\d+)(?![\d.,]\d)")
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b"))


def by_num2words(number: int, *, locale: str) -> str:
    return str(num2words.num2words(number, lang=locale))


def by_icu(number: int, *, locale: str) -> str:
    return MessageFormat("{n,spellout}", locale.partition("_")[0]).format({"n": number}).translate(_INVISIBLE)


def is_right(row: Row, words: Callable[..., str], *, locale: str, language: str) -> bool:
    """Whether a library's cardinal in the place of the digits gives one of the right readings."""

    def said(match: regex.Match[str]) -> str:
        return words(int("".join(filter(str.isdecimal, match[0]))), locale=locale)

    try:
        text = _WHOLE.sub(said, row.text)
    except (NotImplementedError, KeyError, IndexError, TypeError, OverflowError):
        return False
    return plain(text, language=language) in {plain(reading, language=language) for reading in row.readings}


def print_table(table: Path) -> None:
    language = table.stem
    convention = CONVENTIONS[language]
    locale = convention.words or convention.icu
    rows = [row for row in rows_of(table) if row.kind in KINDS and len(_WHOLE.findall(row.text)) == 1]
    right = [sum(is_right(row, words, locale=locale, language=language) for row in rows) for words in _LIBRARIES]
    used = "num2words" if convention.words else "ICU"
    print(f"{language:10} {len(rows):9} {right[0]:9} {right[1]:6}   {used}")


_LIBRARIES = (by_num2words, by_icu)


if __name__ == "__main__":
    print("language   sentences num2words    ICU   used")
    for one in TABLES:
        print_table(one)
