"""Files of times and texts: subtitles (srt, vtt), labels of Audacity, and TextGrids of Praat."""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from preprocess.corpora.source import seconds, shown
from preprocess.corpora.textgrid import interval_tiers
from preprocess.utterance import Reason, Rejected

_TIME = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2}(?:[.,]\d{1,9})?)"
_TIMES = re.compile(rf"\s*{_TIME}[ \t]*-->[ \t]*{_TIME}(?:[ \t].*)?", re.ASCII)
_MARKUP = re.compile(r"<[^<>]*>|\{\\[^{}]*\}")  # of vtt and srt, and of SubStation, which srt files borrow
_VTT_BLOCKS = ("WEBVTT", "NOTE", "STYLE", "REGION")


class Cue(NamedTuple):
    """What is said between two times of a recording."""

    start_s: float
    end_s: float
    text: str


Found = tuple[int, Cue | Rejected]  # with the number of the line


def read_subtitles(lines: Sequence[str], *, tier: str | None = None) -> Iterator[Found]:
    """The cues of an srt or vtt: blocks between blank lines, of a line of times and lines of text.

    A line before that of the times is the number or the name of the cue. Blocks of a vtt that are no cues are skipped.
    """
    numbered = enumerate(lines, start=1)
    for is_block, group in itertools.groupby(numbered, lambda one: bool(one[1].strip())):
        block = [*group]
        if is_block and block[0][1].split(maxsplit=1)[0] not in _VTT_BLOCKS:
            yield block[0][0], _subtitle([line for _, line in block])


def _subtitle(block: Sequence[str]) -> Cue | Rejected:
    for place, line in enumerate(block[:2]):
        if (match := _TIMES.fullmatch(line)) is not None:
            start, end = _clock(match.groups()[:3]), _clock(match.groups()[3:])
            text = html.unescape(_MARKUP.sub("", " ".join(map(str.strip, block[place + 1 :]))))
            return Cue(start, end, text.strip())
    return Rejected(Reason.BAD_METADATA_ROW, f"no times such as 00:01:02,500 --> 00:01:04,000 in {shown(block[0])}")


def _clock(fields: Sequence[str | None]) -> float:
    hours, minutes, rest = fields
    return int(hours or 0) * 3600 + int(minutes or 0) * 60 + float((rest or "0").replace(",", "."))


def read_labels(lines: Sequence[str], *, tier: str | None = None) -> Iterator[Found]:
    """The labels of Audacity: start, end and text, with tabs between them; lines of frequencies are skipped."""
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.startswith("\\"):
            yield number, _label(line)


def _label(line: str) -> Cue | Rejected:
    fields = line.split("\t", maxsplit=2)
    if len(fields) != 3:
        return Rejected(Reason.BAD_METADATA_ROW, f"{len(fields)} fields, wanted start<tab>end<tab>text")
    try:
        return Cue(seconds(fields[0], what="start"), seconds(fields[1], what="end"), fields[2].strip())
    except Rejected as error:
        return error


def read_textgrid(lines: Sequence[str], *, tier: str | None = None) -> Iterator[Found]:
    """The intervals of a TextGrid that have a text.

    Args:
        tier: the name of the tier; it may be left out if there is only one with intervals.

    Raises:
        Rejected: the lines are no TextGrid, or it is unknown which tier is meant.
    """
    tiers = interval_tiers("\n".join(lines))
    names = [name for name, _ in tiers]
    if tier is None and len(tiers) != 1:
        raise Rejected(
            Reason.BAD_METADATA_ROW, f"{len(tiers)} tiers of intervals, of which `tier` names one: {_listed(names)}"
        )
    chosen = [intervals for name, intervals in tiers if tier in (None, name)]
    if len(chosen) != 1:
        raise Rejected(Reason.BAD_METADATA_ROW, f"{len(chosen)} tiers are called {tier!r}; there are {_listed(names)}")
    for start_s, end_s, text in chosen[0]:
        if text.strip():
            yield 1, Cue(start_s, end_s, text.strip())


def _listed(names: Sequence[str]) -> str:
    return shown(", ".join(names) or "none")


CUE_READERS: dict[str, Callable[..., Iterator[Found]]] = {
    ".srt": read_subtitles,
    ".vtt": read_subtitles,
    ".textgrid": read_textgrid,
    ".txt": read_labels,
}
