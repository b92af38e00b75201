"""Order, split and shard of an utterance, from a stable hash of its id alone.

Neither the order of files, nor the number of workers, nor Python's salted `hash()` may decide where an
utterance goes: the same corpus gives the same shards on every runner, and a new utterance moves no other.
Changing the hash or a salt moves every utterance of every dataset; it is part of the contract.
"""

from __future__ import annotations

import hashlib

KEY_BITS = 128


def stable_hash(utterance_id: str, *, purpose: str) -> int:
    """A uniform integer in [0, 2¹²⁸): blake2b of the id, independent between purposes."""
    digest = hashlib.blake2b(utterance_id.encode(), digest_size=KEY_BITS // 8, person=purpose.encode())
    return int.from_bytes(digest.digest(), "big")


def split_of(utterance_id: str, *, validation_fraction: float) -> str:
    """`train` or `validation`; a larger fraction only ever moves utterances towards validation."""
    threshold = int(validation_fraction * (1 << 64)) << (KEY_BITS - 64)
    return "validation" if stable_hash(utterance_id, purpose="split") < threshold else "train"


def shard_of(utterance_id: str, *, shards: int) -> int:
    """The shard number in [0, shards): ⌊key · shards / 2¹²⁸⌋, so that shards follow the order of keys."""
    return stable_hash(utterance_id, purpose="order") * shards >> KEY_BITS


def sort_key(utterance_id: str) -> tuple[int, str]:
    """Utterances stand within a shard in the order of this key."""
    return stable_hash(utterance_id, purpose="order"), utterance_id


def speaker_id(speaker: str) -> int:
    """A positive int64 for a speaker's full name `source/speaker`; other speakers do not change it."""
    return stable_hash(speaker, purpose="speaker") >> (KEY_BITS - 63)
