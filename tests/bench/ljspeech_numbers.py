"""Numbers of LJSpeech: its raw column read by the rules, against its normalised column.

    python -m tests.bench.ljspeech_numbers data/LJSpeech-1.1/metadata.csv

A row counts as the same if both texts have the same words and the same digits: `fourteen fifty-five` and `one thousand
four hundred and fifty-five` are 1455, and `the twenty-second of` and `twenty-two` are 22.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import regex

from preprocess.text import prepare_text

LANGUAGE = "eng_Latn"
_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_VALUES = {word: value for value, word in enumerate(_SMALL)} | {word: 20 + 10 * n for n, word in enumerate(_TENS)}
_VALUES |= {"oh": 0}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6}
_ORDINALS = dict(
    zip(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
        "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth thirtieth".split(),
        [*_SMALL[1:], "twenty", "thirty"],
        strict=True,
    )
)
_UNSAID = {"and", "the", "of", "a"}  # of dates and of hundreds


class Row(NamedTuple):
    """A row of the metadata."""

    name: str
    raw: str
    normalised: str


def rows_with_numbers(metadata: Path) -> Iterator[Row]:
    """The rows that have a digit, or whose columns differ."""
    for line in metadata.read_text(encoding="utf-8").split("\n")[:-1]:
        row = Row(*line.split("|"))
        if row.raw != row.normalised or regex.search(r"\d", row.raw):
            yield row


def comparable(text: str) -> str:
    """The words of a prepared text, its numbers in digits one after the other."""
    words = regex.findall(r"[a-z0-9']+", prepare_text(text, language=LANGUAGE).text.lower())
    said = [_ORDINALS.get(word, word) for word in words if word not in _UNSAID]
    return " ".join(_with_digits(said))


def _with_digits(words: list[str]) -> Iterator[str]:
    number: list[str] = []
    for word in [*words, ""]:
        if word in _VALUES or word in _SCALES:
            number.append(word)
            continue
        if number:
            yield "".join(map(str, _values(number)))
        number = []
        yield word


def _values(words: list[str]) -> Iterator[int]:
    """The numbers that a run of number words names: `fourteen fifty five` are 14 and 55."""
    total, part, last = 0, 0, ""
    for word in words:
        if word in _SCALES:
            scaled = (part or 1) * _SCALES[word]
            total, part = (total, scaled) if word == "hundred" else (total + scaled, 0)
        elif not last or last in _SCALES or (last in _TENS and 0 < _VALUES[word] < 10):
            part += _VALUES[word]
        else:
            yield total + part
            total, part = 0, _VALUES[word]
        last = word
    yield total + part


def verdict(row: Row) -> str:
    """`same`, `left` where digits stay as they are, or `other`."""
    if comparable(row.raw) == comparable(row.normalised):
        return "same"
    return "left" if prepare_text(row.raw, language=LANGUAGE).unread_numbers else "other"


@click.command()
@click.argument("metadata", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def main(metadata: Path) -> None:
    """Print how many rows are read as the normalised column has them, and each row that is not."""
    counts: collections.Counter[str] = collections.Counter()
    for row in rows_with_numbers(metadata):
        found = verdict(row)
        counts[found] += 1
        if found != "same":
            read = prepare_text(row.raw, language=LANGUAGE).text
            click.echo(f"{found:5} {row.name}: {row.normalised}\n{'':5} {read}")
    click.echo(f"{counts.total()} rows with numbers: " + ", ".join(f"{counts[kind]} {kind}" for kind in sorted(counts)))


if __name__ == "__main__":
    main()
