"""Recordings that are copies of one another, found by the hashes of their mels."""

from __future__ import annotations

import numpy as np

from preprocess.quality import HASH_BITS

# Only clips that agree in a whole group of 16 bits are compared: two that differ in fewer bits than there are
# groups always do (the pigeonhole principle), and copies nearly always, for their differences lie together.
GROUP_BITS = 16

# Clips alike in one group, such as all that begin with silence: each is compared with so many before it.
MAX_NEIGHBOURS = 256


def bits_to_earlier(hashes: list[str]) -> np.ndarray:
    """For each recording the bits that differ from the most alike one before it, [N] int64; 128 where none is alike."""
    if not hashes:
        return np.zeros(0, np.int64)
    data = np.frombuffer(bytes.fromhex("".join(hashes)), np.uint8).reshape(len(hashes), HASH_BITS // 8)
    words, groups = data.view(np.uint64), data.view(np.uint16)
    bits = np.full(len(hashes), HASH_BITS, np.int64)
    for group in groups.T:
        _compare_alike(group, words=words, bits=bits)
    return bits


def _compare_alike(group: np.ndarray, *, words: np.ndarray, bits: np.ndarray) -> None:
    """Lower `bits` by the distances between clips that have one value in this group."""
    order = np.argsort(group, kind="stable")
    values = group[order]
    for distance in range(1, min(MAX_NEIGHBOURS, len(order) - 1) + 1):
        (alike,) = np.nonzero(values[distance:] == values[:-distance])
        if len(alike) == 0:
            return
        later, earlier = order[alike + distance], order[alike]
        differing = np.bitwise_count(words[later] ^ words[earlier]).sum(axis=1, dtype=np.int64)
        np.minimum.at(bits, later, differing)
