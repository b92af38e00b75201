"""Near-duplicate recordings: Hamming distances between the hashes of their mels."""

from __future__ import annotations

import numpy as np

from preprocess.check_config import HASH_BITS

# Only clips with one equal group of 16 bits are compared. Two hashes that differ in fewer bits than there are groups
# always have an equal group (pigeonhole principle). Copies nearly always have one, because their differing bits are
# clustered.
GROUP_BITS = 16

# Many clips can share one group, such as all that begin with silence: each is compared with this many before it.
MAX_NEIGHBOURS = 256


def hamming_distance_to_earlier(hashes: list[str]) -> np.ndarray:
    """The smallest Hamming distance of each hash to an earlier one.

    Args:
        hashes: N hashes of 128 bits, in hexadecimal.

    Returns:
        [N] int64; 128 if no earlier hash shares a group of 16 bits.
    """
    if not hashes:
        return np.zeros(0, np.int64)
    data = np.frombuffer(bytes.fromhex("".join(hashes)), np.uint8).reshape(len(hashes), HASH_BITS // 8)
    words, groups = data.view(np.uint64), data.view(np.uint16)
    bits = np.full(len(hashes), HASH_BITS, np.int64)
    for group in groups.T:
        _compare_group(group, words=words, bits=bits)
    return bits


def _compare_group(group: np.ndarray, *, words: np.ndarray, bits: np.ndarray) -> None:
    """Lower `bits` to the distances between clips with an equal value of this group."""
    order = np.argsort(group, kind="stable")
    values = group[order]
    for distance in range(1, min(MAX_NEIGHBOURS, len(order) - 1) + 1):
        (alike,) = np.nonzero(values[distance:] == values[:-distance])
        if len(alike) == 0:
            return
        later, earlier = order[alike + distance], order[alike]
        differing = np.bitwise_count(words[later] ^ words[earlier]).sum(axis=1, dtype=np.int64)
        np.minimum.at(bits, later, differing)
