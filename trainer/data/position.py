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
