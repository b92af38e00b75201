"""Suggestions for an id that does not exist."""

from __future__ import annotations

import bisect
import difflib

import pyarrow as pa
import pyarrow.compute as pc

# Candidates are the ids so far before and after the target, in the order of the ids and of the reversed ids.
NEIGHBOURS = 500
SHOWN = 3
MIN_SIMILARITY = 0.5


def suggest_ids(ids: pa.ChunkedArray, target: str) -> list[str]:
    """The ids most similar to `target`; among equally similar ids, those with the longest common start and end.

    Only ids that share a long start or a long end with it are compared, so the time hardly grows with their number.
    """
    candidates = {*_neighbours(ids, target), *(one[::-1] for one in _neighbours(pc.utf8_reverse(ids), target[::-1]))}
    similar = difflib.get_close_matches(target, sorted(candidates), n=max(len(candidates), 1), cutoff=MIN_SIMILARITY)
    matcher = difflib.SequenceMatcher(b=target)

    def similarity(one: str) -> tuple[float, int]:
        matcher.set_seq1(one)
        return matcher.ratio(), _common_start(one, target) + _common_start(one[::-1], target[::-1])

    return sorted(similar, key=similarity, reverse=True)[:SHOWN]


def _common_start(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (x, y) in pairs if x != y), min(len(one), len(other)))


def _neighbours(ids: pa.ChunkedArray, target: str) -> list[str]:
    order = pc.sort_indices(ids)
    place = bisect.bisect_left(
        range(len(order)), target.encode(), key=lambda at: _bytes(ids[order[at].as_py()].as_py())
    )
    near = order.slice(max(0, place - NEIGHBOURS), 2 * NEIGHBOURS)
    return ids.take(near).to_pylist()


def _bytes(text: str) -> bytes:
    """The sort key of Arrow."""
    return text.encode()
