"""Two coordinates of the input stream: the position of the next batch, and a process's part of each batch."""

from __future__ import annotations

from typing import NamedTuple


class Position(NamedTuple):
    """The next batch: its epoch, its chunk in the epoch, its number in the chunk."""

    epoch: int = 0
    chunk: int = 0
    batch: int = 0


class Share(NamedTuple):
    """The parts of each batch that a process takes: `taken` of `parts` equal parts, from part `first` on."""

    first: int = 0
    taken: int = 1
    parts: int = 1


FINGERPRINT_SEPARATOR = "-"  # between the hashes of the order of chunks and of the order of batches within each


def has_same_chunks(one: str, other: str) -> bool:
    """True if two fingerprints of a stream's order differ in the batches within chunks at most."""
    chunks = [order.split(FINGERPRINT_SEPARATOR) for order in (one, other)]
    return all(len(hashes) == 2 for hashes in chunks) and chunks[0][0] == chunks[1][0]
