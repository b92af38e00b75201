"""Hamming distances between recordings, compared with brute force."""

from __future__ import annotations

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from pipelines.build.near_duplicates import GROUP_BITS, hamming_distance_to_earlier
from preprocess.check_config import HASH_BITS

SURE_BITS = HASH_BITS // GROUP_BITS - 1


def hexadecimal(number: int) -> str:
    return number.to_bytes(HASH_BITS // 8, "big").hex()


def brute_force(numbers: list[int]) -> list[int]:
    return [
        min(((number ^ earlier).bit_count() for earlier in numbers[:at]), default=HASH_BITS)
        for at, number in enumerate(numbers)
    ]


@st.composite
def families(draw: st.DrawFn) -> list[int]:
    """Numbers; some of them differ from others in a few bits."""
    numbers = draw(st.lists(st.integers(0, 2**HASH_BITS - 1), min_size=1, max_size=8))
    for _ in range(draw(st.integers(0, 12))):
        changed = draw(st.lists(st.integers(0, HASH_BITS - 1), max_size=SURE_BITS, unique=True))
        numbers.append(draw(st.sampled_from(numbers)) ^ sum(1 << bit for bit in changed))
    return draw(st.permutations(numbers))


@hypothesis.given(families())
def test_every_copy_of_seven_bits_or_less_is_found_at_its_distance(numbers: list[int]) -> None:
    found = hamming_distance_to_earlier([hexadecimal(number) for number in numbers]).tolist()
    for ours, expected in zip(found, brute_force(numbers), strict=True):
        assert ours >= expected
        if expected <= SURE_BITS:
            assert ours == expected


def test_an_empty_corpus_and_a_corpus_of_one_have_no_copies() -> None:
    assert hamming_distance_to_earlier([]).tolist() == []
    assert hamming_distance_to_earlier([hexadecimal(5)]).tolist() == [HASH_BITS]


@pytest.mark.slow
def test_ten_thousand_equal_recordings_are_found_in_little_time() -> None:
    assert (hamming_distance_to_earlier([hexadecimal(5)] * 10_000) == np.array([HASH_BITS, *[0] * 9_999])).all()
