"""Recordings that may be copies: those whose mels have nearly the same hash; `copy_proof.py` says whether they are.

Every pair of recordings of about the same length is compared, so the search misses none, however large the corpus. A
comparison takes some nanoseconds; all cores of the machine compare.
"""

from __future__ import annotations

import concurrent.futures
import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from pipelines.build.copy_proof import MAX_SPEED_CHANGE
from preprocess.check_config import HASH_BITS

# Copies differ in length by their speed, and by what was cut off or added at the ends.
MAX_CUT_S = 0.4

# So many of the nearest candidates of each recording are laid over it.
MAX_CANDIDATES = 4

# The arrays of one comparison of so many recordings with so many others stay in the processor's cache.
BLOCK_ROWS, BLOCK_COLUMNS = 64, 4096


class Recordings(NamedTuple):
    """What the search compares of N recordings."""

    hashes: np.ndarray  # [N, 2] uint64
    durations_s: np.ndarray  # [N]

    @classmethod
    def empty(cls) -> Recordings:
        return cls(hash_words([]), np.empty(0))

    def followed_by(self, other: Recordings) -> Recordings:
        return Recordings(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


def hash_words(hashes: list[str]) -> np.ndarray:
    """Hashes of 128 bits in hexadecimal as numbers, [N, 2] uint64."""
    return np.frombuffer(bytes.fromhex("".join(hashes)), np.uint64).reshape(len(hashes), HASH_BITS // 64)


class Copies(NamedTuple):
    """For each of N recordings, the nearest earlier one that is proven to be its original."""

    bits: np.ndarray  # [N] Hamming distance of the hashes; 128 for a recording without an original
    originals: np.ndarray  # [N] the number of the original; -1 for a recording without one


def find_copies(
    recordings: Recordings, *, known: int = 0, are_copies: Callable[[int, int], bool], below_bits: int = HASH_BITS
) -> Copies:
    """Find the copies among recordings.

    Args:
        known: so many recordings at the beginning are known not to be copies, and are compared as originals only.
        are_copies: compares two recordings, by their numbers.
        below_bits: recordings whose hashes differ in so many bits or more are not compared.
    """
    found = Copies(np.full(len(recordings.hashes), HASH_BITS, np.int64), np.full(len(recordings.hashes), -1, np.int64))
    for later, distance, earlier in _candidates(recordings, known=known, below_bits=below_bits):
        if found.originals[later] < 0 and are_copies(later, earlier):
            found.bits[later], found.originals[later] = distance, earlier
    return found


def _candidates(recordings: Recordings, *, known: int, below_bits: int) -> Iterator[tuple[int, int, int]]:
    """(number of a recording, Hamming distance, number of an earlier one), by recording, the nearest first."""
    nearest = _nearest(np.empty((0, 3), np.int64))
    for pairs in _near_pairs(recordings, known=known, below_bits=below_bits):
        nearest = _nearest(np.concatenate([nearest, pairs]))
    yield from map(tuple, nearest.tolist())


def _nearest(pairs: np.ndarray) -> np.ndarray:
    """Of the pairs (later, distance, earlier) of each later recording the nearest, sorted, [P, 3]."""
    pairs = pairs[np.lexsort(pairs.T[::-1])]
    starts = np.flatnonzero(np.diff(pairs[:, 0], prepend=-1))
    ranks = np.arange(len(pairs)) - np.repeat(starts, np.diff(starts, append=len(pairs)))
    return pairs[ranks < MAX_CANDIDATES]


def _near_pairs(recordings: Recordings, *, known: int, below_bits: int) -> Iterator[np.ndarray]:
    """Pairs (later, distance, earlier) of about the same length whose hashes differ in fewer bits, [P, 3] each."""
    order = np.argsort(recordings.durations_s, kind="stable")
    new, old = order[order >= known], order[order < known]
    durations_s = recordings.durations_s[new]
    longest_s, shortest_s = durations_s * (1 + MAX_SPEED_CHANGE) + MAX_CUT_S, durations_s - MAX_CUT_S
    longest = np.searchsorted(durations_s, longest_s, side="right")
    yield from _pairs_between(recordings, new, new, np.arange(1, len(new) + 1), longest, below_bits=below_bits)
    first = np.searchsorted(recordings.durations_s[old], shortest_s / (1 + MAX_SPEED_CHANGE))
    end = np.searchsorted(recordings.durations_s[old], longest_s, side="right")
    yield from _pairs_between(recordings, new, old, first, end, below_bits=below_bits)


def _pairs_between(
    recordings: Recordings,
    rows: np.ndarray,
    columns: np.ndarray,
    first: np.ndarray,
    end: np.ndarray,
    *,
    below_bits: int,
) -> Iterator[np.ndarray]:
    """The pairs of each row with the columns from `first` to before `end`; all four ascend with the row, [R]."""
    row_words, column_words = recordings.hashes[rows], recordings.hashes[columns]

    def compare(start: int) -> np.ndarray:
        block = np.arange(start, min(start + BLOCK_ROWS, len(rows)))
        found = [np.empty((0, 3), np.int64)]
        for at in range(int(first[start]), int(end[block[-1]]), BLOCK_COLUMNS):
            row, column, distance = _below(row_words[block], column_words[at : at + BLOCK_COLUMNS], bits=below_bits)
            row, column = block[row], at + column
            is_pair = (column >= first[row]) & (column < end[row])
            one, two = rows[row[is_pair]], columns[column[is_pair]]
            found.append(np.stack([np.maximum(one, two), distance[is_pair], np.minimum(one, two)], axis=1))
            if sum(map(len, found)) > BLOCK_ROWS * BLOCK_COLUMNS:  # many recordings are alike
                found = [_nearest(np.concatenate(found))]
        return _nearest(np.concatenate(found))

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:  # NumPy releases Python's lock
        waiting = [np.empty((0, 3), np.int64)]
        for pairs in pool.map(compare, range(0, len(rows), BLOCK_ROWS)):
            waiting.append(pairs)
            if sum(map(len, waiting)) > BLOCK_ROWS * BLOCK_COLUMNS:
                yield np.concatenate(waiting)
                waiting = [np.empty((0, 3), np.int64)]
    yield np.concatenate(waiting)


def _below(one: np.ndarray, other: np.ndarray, *, bits: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pairs of hashes, [A, 2] and [B, 2], that differ in fewer bits: row, column, distance, [P] each."""
    distances = np.bitwise_count(one[:, None, 0] ^ other[None, :, 0])
    distances += np.bitwise_count(one[:, None, 1] ^ other[None, :, 1])
    rows, columns = np.nonzero(distances < bits)
    return rows, columns, distances[rows, columns].astype(np.int64)
