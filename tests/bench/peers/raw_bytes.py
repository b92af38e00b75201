"""The floor as it was first measured: each record is copied into an object of Python's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.bench.peers import raw
from tests.bench.peers.clips import Corpus, Tally
from tests.bench.peers.raw import TOLERANCE, prepare

__all__ = ["TOLERANCE", "batches", "prepare"]


class Bytes(raw.Records):
    """A batch of serialised records as `bytes`."""

    def tally(self) -> Tally:
        """Counts the records."""
        return Tally(len(self.records.numpy()), 0, 0)


def batches(folder: Path, corpus: Corpus, *, epochs: int | None) -> Iterator[Bytes]:
    return (Bytes(*batch) for batch in raw.batches(folder, corpus, epochs=epochs))
