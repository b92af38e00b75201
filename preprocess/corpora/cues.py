"""Files of times and texts: subtitles (srt, vtt), labels of Audacity, TextGrids of Praat, and CTMs."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from preprocess.corpora.source import seconds, shown
from preprocess.corpora.textgrid import interval_tiers
from preprocess.utterance import Reason, Rejected

_TIME = r"(?:(\d{1,4}):)?([0-5]?\d):([0-5]?\d(?:[.,]\d{1,9})?)"
_TIMES = re.compile(rf"\s*{_TIME}[ \t]*-->[ \t]*{_TIME}(?:[ \t].*)?", re.ASCII)
# tags of vtt and srt, vtt's times within a text, the readings of ruby, and what srt borrows from SubStation
_MARKUP = re.compile(
    r"<rt\b[^<>]*>[^<>]*</rt>|</?(?:b|c|font|i|lang|rt|ruby|s|span|u|v)(?:[ .][^<>]*)?>|<[\d:.]+>|\{\\[^{}]*\}",
    re.IGNORECASE,
)
ARROW = "-->"  # in a text it is the rest of damaged times
_VTT_BLOCKS = ("NOTE", "STYLE", "REGION")


class Cue(NamedTuple):
    """What is said between two times of a recording."""

    start_s: float
    end_s: float
    text: str


Found = tuple[int, Cue | Rejected]  # with the number of the line


def read_subtitles(lines: Sequence[str]) -> Iterator[Found]:
    """The cues of an srt or vtt: each is a line of times, and the lines of text up to an empty line or the next cue.

    The line before the times is the number or the name of the cue. A cue after whose text something else follows is
    rejected, because that is the rest of its text, or a cue whose times are damaged.
    """
    is_vtt = bool(lines) and lines[0].startswith("WEBVTT")
    begins = [number for number, line in enumerate(lines) if _TIMES.fullmatch(line)]
    first = lines[: begins[0] if begins else len(lines)]
    is_numbered = bool(first) and first[-1].strip().isdecimal()

    def without_name(said: Sequence[str]) -> Sequence[str]:
        """The lines in front of a line of times without the last one, if that is the number or name of its cue."""
        is_number = is_numbered and said and said[-1].strip().isdecimal()
        is_name = is_vtt and said and said[-1].strip() and said[-2:-1] == [""]
        return said[:-1] if is_number or is_name else said

    yield from _preamble(without_name(first) if begins else first, is_vtt=is_vtt)
    for begin, end in zip(begins, [*begins[1:], len(lines)] if begins else [], strict=True):
        said = lines[begin + 1 : end]
        yield begin + 1, _cue(lines[begin], said if end == len(lines) else without_name(said), is_vtt=is_vtt)


def _preamble(lines: Sequence[str], *, is_vtt: bool) -> Iterator[Found]:
    """A rejection if there is more in front of the first cue than the header of a vtt, comments and styles."""
    header = lines[: lines.index("") if "" in lines else len(lines)] if is_vtt else []
    if damaged := [line for line in header if ARROW in line]:
        yield 1, _no_times(damaged)
    elif stray := _stray(lines[len(header) :], is_vtt=is_vtt):
        yield 1, _no_times(stray)


def _stray(lines: Sequence[str], *, is_vtt: bool) -> list[str]:
    """The first lines between empty ones that hold something, but neither a comment nor a style of a vtt."""
    block = list[str]()
    for line in (*lines, ""):
        if line:
            block.append(line)
            continue
        words = " ".join(block).split()
        if words and not (is_vtt and words[0] in _VTT_BLOCKS):
            return block
        block = []
    return []


def _cue(times: str, lines: Sequence[str], *, is_vtt: bool) -> Cue | Rejected:
    end = next((place for place, line in enumerate(lines) if not line), len(lines))
    if stray := [line for line in lines[:end] if ARROW in line] or _stray(lines[end:], is_vtt=is_vtt):
        return _no_times(stray)
    match = _TIMES.fullmatch(times)
    assert match is not None
    try:
        text = html.unescape(_MARKUP.sub("", " ".join(map(str.strip, lines[:end]))))
    except ValueError as error:  # the number of a character has thousands of digits
        return Rejected(Reason.BAD_METADATA_ROW, f"an entity that is no character: {error}")
    return Cue(_clock(match.groups()[:3]), _clock(match.groups()[3:]), text.strip())


def _no_times(lines: Sequence[str]) -> Rejected:
    found = shown(" ".join(line.strip() for line in lines[:3]))
    return Rejected(Reason.BAD_METADATA_ROW, f"no times such as 00:01:02,500 --> 00:01:04,000 in {found}")


def _clock(fields: Sequence[str | None]) -> float:
    hours, minutes, rest = fields
    return int(hours or 0) * 3600 + int(minutes or 0) * 60 + float((rest or "0").replace(",", "."))


def read_labels(lines: Sequence[str]) -> Iterator[Found]:
    """The labels of Audacity: start, end and text, with tabs between them; lines of frequencies are skipped."""
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.startswith("\\"):
            yield number, _label(line)


def _label(line: str) -> Cue | Rejected:
    fields = line.split("\t", maxsplit=2)
    if len(fields) != 3:
        return Rejected(Reason.BAD_METADATA_ROW, f"{len(fields)} fields, expected start<tab>end<tab>text")
    try:
        return Cue(seconds(fields[0], what="start"), seconds(fields[1], what="end"), fields[2].strip())
    except Rejected as error:
        return error


def read_ctm(lines: Sequence[str]) -> Iterator[Found]:
    """The words of a CTM: recording, channel, start, duration, word, perhaps a confidence; ;; begins a comment.

    Raises:
        Rejected: there are words of several recordings or channels.
    """
    words = [(number, line.split()) for number, line in enumerate(lines, start=1) if not line.startswith(";;")]
    spoken = {tuple(fields[:2]) for _, fields in words if fields}
    if len(spoken) > 1:
        names = ", ".join(sorted(" ".join(one) for one in spoken)[:3])
        raise Rejected(Reason.BAD_METADATA_ROW, f"{len(spoken)} recordings or channels in one CTM: {shown(names)}")
    yield from ((number, _word(fields)) for number, fields in words if fields)


def _word(fields: Sequence[str]) -> Cue | Rejected:
    if not 5 <= len(fields) <= 6:
        return Rejected(
            Reason.BAD_METADATA_ROW, f"{len(fields)} fields, expected recording channel start duration word"
        )
    try:
        start_s = seconds(fields[2], what="start")
        return Cue(start_s, start_s + seconds(fields[3], what="duration"), fields[4])
    except Rejected as error:
        return error


def read_textgrid(lines: Sequence[str], *, tier: str | None) -> Iterator[Found]:
    """The intervals of a TextGrid that have a text.

    Args:
        tier: the name of the tier; it may be left out if there is only one with intervals.

    Raises:
        Rejected: the lines are no TextGrid, or it is unknown which tier is meant.
    """
    tiers = interval_tiers("\n".join(lines))
    names = [name for name, _ in tiers]
    if tier is None and len(tiers) != 1:
        message = f"{len(tiers)} tiers of intervals, and `tier` names none of them: {_listed(names)}"
        raise Rejected(Reason.BAD_METADATA_ROW, message)
    chosen = [intervals for name, intervals in tiers if tier in (None, name)]
    if len(chosen) != 1:
        raise Rejected(Reason.BAD_METADATA_ROW, f"{len(chosen)} tiers are called {tier!r}; there are {_listed(names)}")
    for one in chosen[0]:
        if one.text.strip():
            yield one.line, Cue(one.start_s, one.end_s, one.text.strip())


def _listed(names: Sequence[str]) -> str:
    return shown(", ".join(names) or "none")


_READERS = {".srt": read_subtitles, ".vtt": read_subtitles, ".txt": read_labels, ".ctm": read_ctm}
TEXTGRID = ".textgrid"
CUE_SUFFIXES = (*_READERS, TEXTGRID)


def read_cues(lines: Sequence[str], *, suffix: str, tier: str | None = None) -> Iterator[Found]:
    """The cues of a file, each with the number of its line; Rejected stands in the place of a cue that is none.

    Args:
        suffix: of the file, one of `CUE_SUFFIXES`.
        tier: of a TextGrid: the name of the tier; None: its only one with intervals.

    Raises:
        Rejected: nothing in the file can be used.
    """
    return read_textgrid(lines, tier=tier) if suffix == TEXTGRID else _READERS[suffix](lines)
