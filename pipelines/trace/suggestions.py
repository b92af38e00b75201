"""Ids that may have been meant."""

from __future__ import annotations

import bisect
import difflib

import pyarrow as pa
import pyarrow.compute as pc

# To either side of where the wanted id would stand, in the order of the ids and of the reversed ids.
NEIGHBOURS = 500
SHOWN = 3
LEAST_LIKENESS = 0.5


def suggest_ids(ids: pa.ChunkedArray, wanted: str) -> list[str]:
    """The few ids that are most like the wanted one; of those equally like, the ones with more start and end in common.

    Only those that share a long start or a long end with it are looked at: a few thousand of however many.
    """
    candidates = {*_around(ids, wanted), *(one[::-1] for one in _around(pc.utf8_reverse(ids), wanted[::-1]))}
    likest = difflib.get_close_matches(wanted, sorted(candidates), n=max(len(candidates), 1), cutoff=LEAST_LIKENESS)
    matcher = difflib.SequenceMatcher(b=wanted)

    def likeness(one: str) -> tuple[float, int]:
        matcher.set_seq1(one)
        return matcher.ratio(), _common_start(one, wanted) + _common_start(one[::-1], wanted[::-1])

    return sorted(likest, key=likeness, reverse=True)[:SHOWN]


def _common_start(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (x, y) in pairs if x != y), min(len(one), len(other)))


def _around(ids: pa.ChunkedArray, wanted: str) -> list[str]:
    order = pc.sort_indices(ids)
    place = bisect.bisect_left(
        range(len(order)), wanted.encode(), key=lambda at: _bytes(ids[order[at].as_py()].as_py())
    )
    near = order.slice(max(0, place - NEIGHBOURS), 2 * NEIGHBOURS)
    return ids.take(near).to_pylist()


def _bytes(text: str) -> bytes:
    """In whose order Arrow sorts."""
    return text.encode()
