"""Sentences with numbers, and their right readings, written from the languages' grammars before the rules were.

Each table has a line for each sentence: what the number is, the sentence as it is written, and its right readings. A
sentence is read as one of these, or its digits are left, or it is wrong.
"""

from __future__ import annotations

import collections
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import regex

from preprocess.text import prepare_text

TABLES = sorted(Path(__file__).with_name("number_tables").glob("*.tsv"))
KINDS = "cardinal ordinal year decimal percent currency unit range fraction time date digits roman abbreviation".split()
MAX_WRONG_PERCENT = 2.0
# In these, a number's form depends on words that no rule sees.
MAX_WRONG_PERCENT_OF = {"arb_Arab": 5.0, "rus_Cyrl": 5.0, "pol_Latn": 5.0}

_DASHES = regex.compile(r"\s*[-–—‑]\s*")
_NUMERALS = regex.compile(r"[\p{Nd}\p{No}]+|(?<!\p{Latin})[IVX]+(?=(?:er?|re|ème)?(?!\p{Latin}))")


class Row(NamedTuple):
    kind: str
    text: str
    readings: tuple[str, ...]


def rows_of(table: Path) -> Iterator[Row]:
    for line in table.read_text(encoding="utf-8").splitlines():
        kind, text, readings = line.split("\t")
        yield Row(kind, text, tuple(readings.split(" | ")))


def plain(text: str, *, language: str) -> str:
    """A prepared text without what is not heard: case, hyphens, the kind of an apostrophe."""
    prepared = prepare_text(text, language=language).text
    return " ".join(_DASHES.sub(" ", prepared.casefold().replace("ʼ", "'").replace("’", "'")).split())


def numerals(text: str) -> list[str]:
    return _NUMERALS.findall(unicodedata.normalize("NFKC", text).replace("⁄", "/"))


def verdict(row: Row, *, language: str) -> str:
    if plain(row.text, language=language) in {plain(reading, language=language) for reading in row.readings}:
        return "read"
    written, left = numerals(row.text), numerals(prepare_text(row.text, language=language).text)
    return "left" if left and "".join(left) == "".join(written) else "wrong"


@pytest.mark.parametrize("table", TABLES, ids=[table.stem for table in TABLES])
def test_a_table_has_sixty_sentences_and_every_kind_of_number(table: Path) -> None:
    rows = list(rows_of(table))
    assert len(rows) >= 60
    assert {row.kind for row in rows} == set(KINDS)
    assert all(numerals(row.text) for row in rows)


@pytest.mark.parametrize("table", TABLES, ids=[table.stem for table in TABLES])
def test_sentences_are_read_right_or_left(table: Path) -> None:
    language, rows = table.stem, list(rows_of(table))
    verdicts = {row: verdict(row, language=language) for row in rows}
    counts = collections.Counter(verdicts.values())
    wrong = [
        f"{row.text} -> {prepare_text(row.text, language=language).text}" for row in rows if verdicts[row] == "wrong"
    ]
    shares = ", ".join(f"{name} {100 * counts[name] / len(rows):.1f} %" for name in ("read", "left", "wrong"))
    print(f"{language}: {len(rows)} sentences, {shares}", *wrong, sep="\n")
    assert 100 * len(wrong) / len(rows) <= MAX_WRONG_PERCENT_OF.get(language, MAX_WRONG_PERCENT)
