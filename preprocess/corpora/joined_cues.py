"""Joins what an aligner gives word by word into parts that can be trained on, divided at pauses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from preprocess.corpora.cues import Cue, Found
from preprocess.utterance import Reason, Rejected

MAX_PAUSE_S = 1.0  # within a part
TICK_S = 0.02  # by which aligners round
EDGE_S = 0.1  # of a pause, that a part keeps before its first and after its last word
UNKNOWN_WORDS = frozenset({"<unk>", "[unk]", "spn"})  # for words that an aligner did not know


def join_cues(found: Sequence[Found], *, max_s: float) -> Iterator[Found]:
    """Join cues of one recording, in the order of their times, into cues of at most `max_s` seconds.

    A part ends at a pause of more than `MAX_PAUSE_S`, at a cue that cannot be used, and else at the longest pause of
    those that make it longer than half of `max_s`. It reaches into the pauses around it, at most up to their middle.
    """
    checked = [*_checked(found)]
    begin = 0
    for place, (_, cue) in enumerate(checked):
        if place > begin and not _continues(checked[place - 1][1], cue):
            yield from _divided(found, begin, place, max_s=max_s)
            begin = place
        if isinstance(cue, Rejected):
            yield checked[place]
            begin = place + 1
    yield from _divided(found, begin, len(found), max_s=max_s)


def _checked(found: Sequence[Found]) -> Iterator[Found]:
    latest_s = 0.0
    for number, cue in found:
        if isinstance(cue, Cue) and cue.start_s < latest_s - TICK_S:
            message = f"begins at {cue.start_s:g} s, before what is before it ends, at {latest_s:g} s"
            yield number, Rejected(Reason.BAD_METADATA_ROW, message)
            continue
        latest_s = max(latest_s, cue.end_s) if isinstance(cue, Cue) else latest_s
        if isinstance(cue, Cue) and cue.text.lower() in UNKNOWN_WORDS:
            yield number, Rejected(Reason.BAD_METADATA_ROW, f"the aligner did not know a word at {cue.start_s:g} s")
        elif isinstance(cue, Cue) and not cue.start_s < cue.end_s:
            message = f"from {cue.start_s:g} s to {cue.end_s:g} s: no part of a recording"
            yield number, Rejected(Reason.BAD_METADATA_ROW, message)
        else:
            yield number, cue


def _continues(last: Cue | Rejected, cue: Cue | Rejected) -> bool:
    return isinstance(last, Cue) and isinstance(cue, Cue) and last.start_s <= cue.start_s <= last.end_s + MAX_PAUSE_S


def _divided(found: Sequence[Found], begin: int, end: int, *, max_s: float) -> Iterator[Found]:
    """The parts of the cues from `begin` to `end`."""
    while begin < end:
        cues = _window(found, begin, end, max_s=max_s)
        next_one = begin + _end_of_part(cues, max_s=max_s)
        said = cues[: next_one - begin]
        start_s = said[0].start_s - min(EDGE_S, _pause_s(found, begin) / 2)
        end_s = said[-1].end_s + min(EDGE_S, _pause_s(found, next_one) / 2)
        yield found[begin][0], Cue(start_s, end_s, " ".join(cue.text for cue in said))
        begin = next_one


def _window(found: Sequence[Found], begin: int, end: int, *, max_s: float) -> list[Cue]:
    """The cues from `begin` up to the first one that does not end within `max_s`, at most those before `end`."""
    window = list[Cue]()
    for place in range(begin, end):
        cue = found[place][1]
        assert isinstance(cue, Cue)
        window.append(cue)
        if cue.end_s - window[0].start_s > max_s and len(window) > 1:
            break
    return window


def _pause_s(found: Sequence[Found], place: int) -> float:
    """The pause in front of the cue at a place; 0 after the last one, and beside what has no times."""
    last = found[place - 1][1] if place > 0 else Cue(0.0, 0.0, "")
    cue = found[place][1] if place < len(found) else last  # the recording may end there
    return max(0.0, cue.start_s - last.end_s) if isinstance(last, Cue) and isinstance(cue, Cue) else 0.0


def _end_of_part(cues: Sequence[Cue], *, max_s: float) -> int:
    """The number of cues in the part that begins with the first one."""
    lengths_s = [cue.end_s - cues[0].start_s for cue in cues]
    fitting = [count for count, length_s in enumerate(lengths_s, start=1) if length_s <= max_s]
    if not fitting or fitting[-1] == len(cues):
        return fitting[-1] if fitting else 1
    late = [count for count in fitting if lengths_s[count - 1] >= max_s / 2] or fitting[-1:]
    return max(late, key=lambda count: cues[count].start_s - cues[count - 1].end_s)
