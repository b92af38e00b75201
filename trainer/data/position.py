"""Where a stream stands, and which part of each batch is whose."""

from __future__ import annotations

from typing import NamedTuple


class Position(NamedTuple):
    """The next batch to come: its epoch, its chunk in the epoch, its place in the chunk."""

    epoch: int = 0
    chunk: int = 0
    batch: int = 0


class Share(NamedTuple):
    """Of `parts` equal parts of each batch, those that a process takes: `taken` from `first` on."""

    first: int = 0
    taken: int = 1
    parts: int = 1
