"""Reads TextGrids of Praat, in their long and in their short text format.

Praat takes from a text file only what stands free: numbers and flags between white space, and texts in quotes, in
which a quote is doubled; an exclamation mark that stands free begins a comment (Praat manual, "TextGrid file formats").
Thus both formats are the same sequence of values: their kind, two times, a flag, the number of tiers; of each tier its
class, name, two times, and the number of its intervals or points; of each interval two times and its text, of each
point a time and its text.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from preprocess.utterance import Reason, Rejected

_VALUE = re.compile(
    r'"(?P<text>[^"]*(?:""[^"]*)*)"|(?<!\S)(?P<number>[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)(?!\S)|<\w+>|(?<!\S)!.*'
)
_INTERVALS, _POINTS = "IntervalTier", "TextTier"


class Interval(NamedTuple):
    """An interval of a tier."""

    start_s: float
    end_s: float
    text: str
    line: int  # of its text


def interval_tiers(document: str) -> list[tuple[str, list[Interval]]]:
    """The tiers of intervals of a TextGrid: their names and intervals.

    Raises:
        Rejected: the document is no TextGrid.
    """
    values = Values(document)
    if [values.text(), values.text()] != ["ooTextFile", "TextGrid"]:
        message = "no TextGrid of Praat in its text format, in UTF-8 or with the mark of UTF-16"
        raise Rejected(Reason.BAD_METADATA_ROW, message)
    values.times()
    tiers = [_tier(values) for _ in range(values.count())]
    if values.has_more():
        raise Rejected(Reason.BAD_METADATA_ROW, "the TextGrid has more than the tiers and intervals that it states")
    return [(name, intervals) for kind, name, intervals in tiers if kind == _INTERVALS]


def _tier(values: Values) -> tuple[str, str, list[Interval]]:
    kind, name = values.text(), values.text()
    if kind not in (_INTERVALS, _POINTS):
        raise Rejected(Reason.BAD_METADATA_ROW, f"a tier of the class {kind[:40]!r}")
    values.times()
    found = list[Interval]()
    for _ in range(values.count()):
        start_s, end_s = values.times() if kind == _INTERVALS else (values.number(), 0.0)
        found.append(Interval(start_s, end_s, values.text(), values.line))
    return kind, name, found


class Values:
    """The values of a document, one after the other; each method raises Rejected if the next one is of another kind."""

    def __init__(self, document: str):
        self._document, self._matches, self._place = document, _VALUE.finditer(document), 0
        self.line = 1

    def _next(self) -> str | float | None:
        for match in self._matches:
            self.line += self._document.count("\n", self._place, match.start())
            self._place = match.start()
            if match["text"] is not None:
                return match["text"].replace('""', '"')
            if match["number"] is not None:
                return float(match["number"])
        return None  # flags and comments say nothing

    def has_more(self) -> bool:
        return self._next() is not None

    def text(self) -> str:
        value = self._next()
        if not isinstance(value, str):
            raise self._wrong(value, wanted="a text")
        return value

    def number(self) -> float:
        value = self._next()
        if not isinstance(value, float):
            raise self._wrong(value, wanted="a number")
        return value

    def times(self) -> tuple[float, float]:
        return self.number(), self.number()

    def count(self) -> int:
        number = self.number()
        if not 0 <= number < 1e9 or number != int(number):
            raise Rejected(Reason.BAD_METADATA_ROW, f"the TextGrid states {number:g} tiers or intervals")
        return int(number)

    def _wrong(self, value: str | float | None, *, wanted: str) -> Rejected:
        if value is None:
            return Rejected(Reason.BAD_METADATA_ROW, f"the TextGrid is cut off after line {self.line}")
        message = f"the TextGrid has {str(value)[:40]!r} in line {self.line}, where {wanted} must be"
        return Rejected(Reason.BAD_METADATA_ROW, message)
