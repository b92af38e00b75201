"""Reads TextGrids of Praat, in their long and in their short text format.

Praat takes from a text file only what stands free: numbers and flags between white space, and texts in quotes, in
which a quote is doubled (Praat manual, "TextGrid file formats"). Thus both formats are the same sequence of values:
their kind, two times, a flag, the number of tiers; of each tier its class, name, two times, and the number of its
intervals or points; of each interval two times and its text, of each point a time and its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from preprocess.utterance import Reason, Rejected

_VALUE = re.compile(r'"(?P<text>(?:[^"]|"")*)"|(?<!\S)(?P<number>[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)(?!\S)|<\w+>')
_INTERVALS, _POINTS = "IntervalTier", "TextTier"
Interval = tuple[float, float, str]  # start and end in seconds, text


def interval_tiers(document: str) -> list[tuple[str, list[Interval]]]:
    """The tiers of intervals of a TextGrid: their names and intervals.

    Raises:
        Rejected: the document is no TextGrid.
    """
    values = _values(document)
    try:
        if [_text(values), _text(values)] != ["ooTextFile", "TextGrid"]:
            raise Rejected(Reason.BAD_METADATA_ROW, "no TextGrid of Praat in its text format")
        _times(values)
        next(values)  # <exists>
        tiers = [_tier(values) for _ in range(_count(values))]
    except StopIteration:
        raise Rejected(Reason.BAD_METADATA_ROW, "the TextGrid is cut off") from None
    return [(name, intervals) for kind, name, intervals in tiers if kind == _INTERVALS]


def _values(document: str) -> Iterator[str | float | None]:
    for match in _VALUE.finditer(document):
        if match["text"] is not None:
            yield match["text"].replace('""', '"')
        else:
            yield None if match["number"] is None else float(match["number"])


def _tier(values: Iterator[str | float | None]) -> tuple[str, str, list[Interval]]:
    kind, name = _text(values), _text(values)
    if kind not in (_INTERVALS, _POINTS):
        raise Rejected(Reason.BAD_METADATA_ROW, f"a tier of the class {kind[:40]!r}")
    _times(values)
    found = list[Interval]()
    for _ in range(_count(values)):
        if kind == _INTERVALS:
            start_s, end_s = _times(values)
        else:
            start_s = end_s = _number(values)
        found.append((start_s, end_s, _text(values)))
    return kind, name, found


def _times(values: Iterator[str | float | None]) -> tuple[float, float]:
    return _number(values), _number(values)


def _count(values: Iterator[str | float | None]) -> int:
    number = _number(values)
    if not 0 <= number < 1e9 or number != int(number):
        raise Rejected(Reason.BAD_METADATA_ROW, f"the TextGrid states {number:g} tiers or intervals")
    return int(number)


def _number(values: Iterator[str | float | None]) -> float:
    value = next(values)
    if not isinstance(value, float):
        raise Rejected(Reason.BAD_METADATA_ROW, f"the TextGrid has {str(value)[:40]!r} where a number must be")
    return value


def _text(values: Iterator[str | float | None]) -> str:
    value = next(values)
    if not isinstance(value, str):
        raise Rejected(Reason.BAD_METADATA_ROW, f"the TextGrid has {value} where a text must be")
    return value
