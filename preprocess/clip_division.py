"""Divides the speech of a recording into clips at its pauses."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from preprocess.speech_activity import Region

PADDING_S = 0.1  # of the pauses around a clip that belong to it, or half of a shorter pause
MAX_JOINED_PAUSE_S = 1.0  # across which short speech is joined with what is near


class ClipLengths(NamedTuple):
    """What the clips are to be like."""

    min_s: float = 1.0  # shorter speech is joined with what is near, or left out
    max_s: float = 20.0  # of a clip with its padding
    pause_s: float = 0.5  # a pause of this length ends a clip that is long enough

    @property
    def max_speech_s(self) -> float:
        """The longest speech that fits into a clip with its padding."""
        return self.max_s - 2 * PADDING_S


class Division(NamedTuple):
    """The clips of a recording, and the speech that is in none."""

    clips: list[Region]
    too_short: list[Region]
    too_long: list[Region]  # without a pause at which they could be divided


def divide(regions: Sequence[Region], *, lengths: ClipLengths, duration_s: float) -> Division:
    """Divide speech into clips; each region is in one clip, or left out.

    Regions with a pause of `pause_s` or more between them are separated. What does not fit into `max_s` is then divided
    at its longest pause, again and again. What is shorter than `min_s` is joined with the neighbour across the shorter
    pause, if both fit and that pause is no longer than MAX_JOINED_PAUSE_S.

    Args:
        regions: in order, with a pause between any two.
        duration_s: of the recording.
    """
    groups = [part for group in _by_pauses(regions, pause_s=lengths.pause_s) for part in _parts(group, lengths=lengths)]
    groups = _joined(groups, lengths=lengths)
    spans = [Region(group[0].start_s, group[-1].end_s) for group in groups]
    padded = list(_padded(spans, regions=regions, duration_s=duration_s))
    return Division(
        [
            clip
            for clip, span in zip(padded, spans, strict=True)
            if lengths.min_s <= _length(span) <= lengths.max_speech_s
        ],
        [span for span in spans if _length(span) < lengths.min_s],
        [span for span in spans if _length(span) > lengths.max_speech_s],
    )


def _length(span: Region) -> float:
    return span.end_s - span.start_s


def _by_pauses(regions: Sequence[Region], *, pause_s: float) -> Iterator[list[Region]]:
    group: list[Region] = []
    for region in regions:
        if group and region.start_s - group[-1].end_s >= pause_s:
            yield group
            group = []
        group.append(region)
    if group:
        yield group


def _parts(group: list[Region], *, lengths: ClipLengths) -> Iterator[list[Region]]:
    """The group, divided at its longest pauses until each part fits or has no pause."""
    waiting = [group]
    while waiting:
        part = waiting.pop()
        if len(part) == 1 or part[-1].end_s - part[0].start_s <= lengths.max_speech_s:
            yield part
            continue
        pauses = [after.start_s - before.end_s for before, after in itertools.pairwise(part)]
        cut = 1 + pauses.index(max(pauses))
        waiting += [part[cut:], part[:cut]]


def _joined(groups: list[list[Region]], *, lengths: ClipLengths) -> list[list[Region]]:
    """The groups; a short one is joined with a neighbour where both fit, the nearer one first."""
    number = 0
    while number < len(groups):
        group = groups[number]
        if group[-1].end_s - group[0].start_s >= lengths.min_s:
            number += 1
            continue
        neighbours = [one for one in (number - 1, number) if 0 <= one < len(groups) - 1]  # of each pair, the first
        pauses = {
            one: groups[one + 1][0].start_s - groups[one][-1].end_s
            for one in neighbours
            if groups[one + 1][-1].end_s - groups[one][0].start_s <= lengths.max_speech_s
        }
        pauses = {one: pause_s for one, pause_s in pauses.items() if pause_s <= MAX_JOINED_PAUSE_S}
        if not pauses:
            number += 1
            continue
        first = min(pauses, key=pauses.__getitem__)
        groups[first : first + 2] = [groups[first] + groups[first + 1]]
        number = first
    return groups


def _padded(spans: Sequence[Region], *, regions: Sequence[Region], duration_s: float) -> Iterator[Region]:
    """The spans with a little of the pauses around them, which stay without other speech."""
    ends = {one.end_s: after.start_s for one, after in itertools.pairwise(regions)}
    starts = {after.start_s: one.end_s for one, after in itertools.pairwise(regions)}
    for span in spans:
        before = span.start_s - starts.get(span.start_s, -math.inf)
        after = ends.get(span.end_s, math.inf) - span.end_s
        yield Region(
            max(0.0, span.start_s - min(PADDING_S, before / 2)),
            min(duration_s, span.end_s + min(PADDING_S, after / 2)),
        )
