from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.hashing import shard_of, sort_key, speaker_id, split_of, stable_hash

IDS = [f"lj/LJ{number:05d}" for number in range(20_000)]
ids = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


def order_key(utterance_id: str) -> int:
    digest = hashlib.blake2b(utterance_id.encode(), digest_size=16, person=b"order").hexdigest()
    return int(digest, 16)


def test_values_are_those_of_the_first_release() -> None:
    """If one of these changes, every utterance of every dataset moves."""
    assert stable_hash("lj/LJ001-0001", purpose="order") == 0x6A842183E696F3CA5B039C8BA5181E32
    assert shard_of("lj/LJ001-0001", shards=1000) == 416
    assert speaker_id("lj/LJ") == 817_415_527_531_585_695
    assert [one for one in IDS[:100] if split_of(one, validation_fraction=0.05) == "validation"] == [
        "lj/LJ00015",
        "lj/LJ00017",
        "lj/LJ00029",
        "lj/LJ00030",
        "lj/LJ00071",
        "lj/LJ00085",
        "lj/LJ00090",
    ]


@given(ids, st.integers(1, 5000))
def test_a_shard_is_an_equal_part_of_the_range_of_keys(utterance_id: str, shards: int) -> None:
    shard = shard_of(utterance_id, shards=shards)
    assert 0 <= shard < shards
    # shard/shards <= key/2^128 < (shard+1)/shards, in integers
    assert shard << 128 <= order_key(utterance_id) * shards < (shard + 1) << 128


def test_shards_follow_the_order_of_keys() -> None:
    shards = [shard_of(one, shards=7) for one in sorted(IDS[:500], key=sort_key)]
    assert shards == sorted(shards)


def test_shards_are_about_equally_full() -> None:
    counts = [0] * 16
    for one in IDS:
        counts[shard_of(one, shards=16)] += 1
    expected = len(IDS) / 16
    # chi-square with 15 degrees of freedom; 37.7 is its 0.1 % bound
    assert sum((count - expected) ** 2 / expected for count in counts) < 37.7


@pytest.mark.parametrize("fraction", [0.01, 0.1, 0.5])
def test_the_validation_split_has_the_configured_size(fraction: float) -> None:
    found = sum(split_of(one, validation_fraction=fraction) == "validation" for one in IDS)
    assert found == pytest.approx(fraction * len(IDS), abs=4 * (fraction * len(IDS)) ** 0.5)


@given(ids, st.floats(0, 1), st.floats(0, 1))
def test_a_larger_fraction_only_moves_towards_validation(utterance_id: str, one: float, other: float) -> None:
    smaller, larger = sorted((one, other))
    if split_of(utterance_id, validation_fraction=smaller) == "validation":
        assert split_of(utterance_id, validation_fraction=larger) == "validation"


@given(ids)
def test_the_ends_of_the_fraction_are_all_and_nothing(utterance_id: str) -> None:
    assert split_of(utterance_id, validation_fraction=0.0) == "train"
    assert split_of(utterance_id, validation_fraction=1.0) == "validation"


def test_split_and_order_are_independent() -> None:
    validation = [one for one in IDS if split_of(one, validation_fraction=0.5) == "validation"]
    first_half = sum(shard_of(one, shards=2) == 0 for one in validation)
    assert first_half == pytest.approx(len(validation) / 2, abs=4 * (len(validation) / 4) ** 0.5)


@given(ids)
def test_a_speaker_id_is_a_63_bit_number(speaker: str) -> None:
    assert 0 <= speaker_id(speaker) < 1 << 63
