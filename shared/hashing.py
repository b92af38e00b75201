"""Stable hashing of utterance ids: decides the split, the shard and the order of each utterance.

The same corpus gives the same shards on every runner: neither the order of files, nor the number of workers, nor
Python's salted `hash()` decides where an utterance goes. A new utterance moves no other one while the number of
shards stays the same; with twice as many shards, each shard is divided into two. Changing the hash or a purpose moves
every utterance of every dataset: both are part of the contract.
"""

from __future__ import annotations

import hashlib

KEY_BITS = 128


def stable_hash(utterance_id: str, *, purpose: str) -> int:
    """Hash an id to a uniform integer in [0, 2¹²⁸) by blake2b; hashes for different purposes are independent."""
    digest = hashlib.blake2b(utterance_id.encode(), digest_size=KEY_BITS // 8, person=purpose.encode())
    return int.from_bytes(digest.digest(), "big")


def split_of(utterance_id: str, *, validation_fraction: float, test_fraction: float = 0.0) -> str:
    """The split of an utterance: `train`, `validation` or `test`.

    The smallest hashes are validation's and the largest are test's, so that a larger fraction moves utterances from
    training to that split only. The sum of the fractions is below 1.
    """
    key = stable_hash(utterance_id, purpose="split")
    if key < _share_of_hashes(validation_fraction):
        return "validation"
    return "test" if key >= (1 << KEY_BITS) - _share_of_hashes(test_fraction) else "train"


def _share_of_hashes(fraction: float) -> int:
    return int(fraction * (1 << 64)) << (KEY_BITS - 64)


def order_hash(utterance_id: str) -> int:
    """The hash that decides the shard of an utterance and its place in the shard."""
    return stable_hash(utterance_id, purpose="order")


def shard_of(utterance_id: str, *, shards: int) -> int:
    """The shard number of an utterance."""
    return shard_of_hash(order_hash(utterance_id), shards=shards)


def shard_of_hash(order: int, *, shards: int) -> int:
    """The shard number of an utterance from its `order_hash`: ⌊hash · shards / 2¹²⁸⌋; shards follow the hashes."""
    return order * shards >> KEY_BITS


def sort_key(utterance_id: str) -> tuple[int, str]:
    """The key by which utterances are sorted within a shard."""
    return order_hash(utterance_id), utterance_id


def speaker_id(speaker: str) -> int:
    """A positive int64 id for a speaker's full name `source/speaker`; independent of other speakers."""
    return stable_hash(speaker, purpose="speaker") >> (KEY_BITS - 63)
