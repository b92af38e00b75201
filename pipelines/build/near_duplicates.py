"""Recordings that may be copies: those whose mels have nearly the same hash; `copy_proof.py` says whether they are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from preprocess.check_config import HASH_BITS

# Only clips with one equal group of 16 bits are compared. Two hashes that differ in fewer bits than there are groups
# always have an equal group (pigeonhole principle). Copies nearly always have one, because their differing bits are
# clustered.
GROUP_BITS = 16

# Many clips can share one group, such as all that begin with silence: each is compared with this many before it.
MAX_NEIGHBOURS = 256

# So many of the nearest candidates of each clip are laid over it.
MAX_CANDIDATES = 4


def distances_to_copies(
    hashes: list[str], *, are_copies: Callable[[int, int], bool], below_bits: int = HASH_BITS
) -> np.ndarray:
    """The Hamming distance of each recording to the nearest earlier one that is proven to be a copy of it.

    Args:
        hashes: N hashes of 128 bits, in hexadecimal.
        are_copies: compares two recordings, by their numbers.
        below_bits: recordings whose hashes differ in so many bits or more are not compared.

    Returns:
        [N] int64; 128 for a recording without a copy.
    """
    found = np.full(len(hashes), HASH_BITS, np.int64)
    bits, earlier = nearest_earlier(hashes)
    for row in np.flatnonzero((bits < below_bits).any(axis=1)).tolist():
        candidates = sorted(zip(bits[row].tolist(), earlier[row].tolist(), strict=True))
        copies = (distance for distance, other in candidates if distance < below_bits and are_copies(row, other))
        found[row] = next(copies, HASH_BITS)
    return found


def nearest_earlier(hashes: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """The smallest Hamming distances of each hash to earlier ones, and the numbers of these.

    Returns:
        Two [N, MAX_CANDIDATES] int64; distance 128 and number -1 if fewer earlier hashes share a group of 16 bits.
    """
    bits = np.full((len(hashes), MAX_CANDIDATES), HASH_BITS, np.int64)
    earlier = np.full((len(hashes), MAX_CANDIDATES), -1, np.int64)
    if hashes:
        data = np.frombuffer(bytes.fromhex("".join(hashes)), np.uint8).reshape(len(hashes), HASH_BITS // 8)
        for group in data.view(np.uint16).T:
            _compare_group(group, words=data.view(np.uint64), bits=bits, earlier=earlier)
    return bits, earlier


def _compare_group(group: np.ndarray, *, words: np.ndarray, bits: np.ndarray, earlier: np.ndarray) -> None:
    """Take clips with an equal value of this group up, where they are nearer than the farthest so far."""
    order = np.argsort(group, kind="stable")
    values = group[order]
    for distance in range(1, min(MAX_NEIGHBOURS, len(order) - 1) + 1):
        (alike,) = np.nonzero(values[distance:] == values[:-distance])
        if len(alike) == 0:
            return
        later, before = order[alike + distance], order[alike]
        differing = np.bitwise_count(words[later] ^ words[before]).sum(axis=1, dtype=np.int64)
        farthest = bits[later].argmax(axis=1)
        is_nearer = (differing < bits[later, farthest]) & ~(earlier[later] == before[:, None]).any(axis=1)
        later, farthest = later[is_nearer], farthest[is_nearer]
        bits[later, farthest], earlier[later, farthest] = differing[is_nearer], before[is_nearer]
