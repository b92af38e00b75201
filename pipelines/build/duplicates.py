"""The search for copies of recordings, in one source after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pipelines.build.copy_proof import are_copies
from pipelines.build.mel_reader import MelReader
from pipelines.build.near_duplicates import Recordings, find_copies


class Place(NamedTuple):
    """A prepared record: its utterance, and where it lies."""

    utterance_id: str
    shard_name: str
    row: int


class DuplicateSearch:
    """Finds the copies within each source, and those of recordings that an earlier source keeps.

    Args:
        mels: reads the mels that prove a copy.
        below_bits: recordings whose hashes differ in so many bits or more are not compared.
    """

    def __init__(self, mels: MelReader, *, below_bits: int):
        self._mels, self._below_bits = mels, below_bits
        self._kept, self._places = Recordings.of([], durations_s=np.empty(0)), list[Place]()

    def find(self, recordings: Recordings, *, places: Sequence[Place]) -> tuple[np.ndarray, list[str]]:
        """The Hamming distance of each recording to its original, and the original's id; 128 and "" if it is no copy.

        Of two copies in one source the first is the original.
        """
        all_places = [*self._places, *places]

        def are_proven_copies(one: int, other: int) -> bool:
            first, second = (self._mels.mel(all_places[at].shard_name, all_places[at].row) for at in (one, other))
            return first is not None and second is not None and are_copies(first, second, spec=self._mels.spec)

        known = len(self._places)
        found = find_copies(
            self._kept.followed_by(recordings), known=known, are_copies=are_proven_copies, below_bits=self._below_bits
        )
        originals = [all_places[at].utterance_id if at >= 0 else "" for at in found.originals[known:].tolist()]
        return found.bits[known:], originals

    def keep(self, recordings: Recordings, *, places: Sequence[Place]) -> None:
        """Add recordings that are in the dataset: later sources are compared with them."""
        self._kept = self._kept.followed_by(recordings)
        self._places += places
