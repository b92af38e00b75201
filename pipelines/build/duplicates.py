"""The search for copies of recordings, in one source after the other."""

from __future__ import annotations

import bisect

import numpy as np

from pipelines.build.copy_proof import are_copies
from pipelines.build.mel_reader import MelReader
from pipelines.build.near_duplicates import Recordings, find_copies
from pipelines.build.no_copies import NoCopies
from pipelines.build.source_rows import SourceRows


class DuplicateSearch:
    """Finds the copies within each source, and those of recordings that an earlier source keeps.

    Args:
        mels: reads the mels that prove a copy.
        no_copies: pairs that need not be compared; takes those that were compared in vain.
        below_bits: recordings whose hashes differ in so many bits or more are not compared.
    """

    def __init__(self, mels: MelReader, *, no_copies: NoCopies, below_bits: int):
        self._mels, self.no_copies, self._below_bits = mels, no_copies, below_bits
        self._kept = Recordings.empty()
        self._sources: list[tuple[SourceRows, np.ndarray]] = []  # with the rows that they keep
        self._starts: list[int] = []  # the number of the first recording of each source

    def find(self, source: SourceRows, rows: np.ndarray) -> tuple[np.ndarray, dict[int, str]]:
        """Find the copies among these rows of a source; of two copies in it the first is the original.

        Returns:
            The Hamming distance of each row to its original, [K], 128 if it is no copy; and the ids of the originals,
            by row.
        """
        known, recordings = len(self._kept.hashes), self._kept.followed_by(source.recordings(rows))
        sources, starts = [*self._sources, (source, rows)], [*self._starts, known]

        def place(number: int) -> tuple[SourceRows, int]:
            of = bisect.bisect_right(starts, number) - 1
            return sources[of][0], int(sources[of][1][number - starts[of]])

        def are_proven_copies(one: int, other: int) -> bool:
            return self._are_copies(place(one), place(other))

        found = find_copies(recordings, known=known, are_copies=are_proven_copies, below_bits=self._below_bits)
        originals = {}
        for number in np.flatnonzero(found.originals >= 0).tolist():
            of, row = place(int(found.originals[number]))
            originals[int(rows[number - known])] = of.utterance_id(row)
        return found.bits[known:], originals

    def _are_copies(self, one: tuple[SourceRows, int], other: tuple[SourceRows, int]) -> bool:
        contents = [int(source.contents[row]) for source, row in (one, other)]
        if self.no_copies.has(*contents):
            return False
        first, second = self._mel(*one), self._mel(*other)
        if first is None or second is None:
            return False
        found = are_copies(first, second, spec=self._mels.spec)
        if not found:
            self.no_copies.add(*contents)
        return found

    def _mel(self, source: SourceRows, row: int) -> np.ndarray | None:
        return self._mels.mel(source.shard_names[source.shard[row]], int(source.row[row]))

    def keep(self, source: SourceRows, rows: np.ndarray) -> None:
        """Add the rows that pass the checks of a source: later sources are compared with them."""
        self._starts.append(len(self._kept.hashes))
        self._kept = self._kept.followed_by(source.recordings(rows))
        self._sources.append((source, rows))
