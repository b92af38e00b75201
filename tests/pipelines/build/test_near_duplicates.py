"""Candidates for copies, compared with brute force."""

from __future__ import annotations

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from pipelines.build.near_duplicates import GROUP_BITS, MAX_CANDIDATES, distances_to_copies, nearest_earlier
from preprocess.check_config import HASH_BITS

SURE_BITS = HASH_BITS // GROUP_BITS - 1


def hexadecimal(number: int) -> str:
    return number.to_bytes(HASH_BITS // 8, "big").hex()


def distances(numbers: list[int]) -> list[int]:
    """Every candidate is a copy."""
    return distances_to_copies([hexadecimal(number) for number in numbers], are_copies=lambda *_: True).tolist()


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
    for ours, expected in zip(distances(numbers), brute_force(numbers), strict=True):
        assert ours >= expected
        if expected <= SURE_BITS:
            assert ours == expected


@hypothesis.given(families())
def test_the_candidates_are_earlier_different_and_at_their_distance(numbers: list[int]) -> None:
    bits, earlier = nearest_earlier([hexadecimal(number) for number in numbers])
    for row, (of_row, others) in enumerate(zip(bits.tolist(), earlier.tolist(), strict=True)):
        found = [(distance, other) for distance, other in zip(of_row, others, strict=True) if other >= 0]
        assert len({other for _, other in found}) == len(found)
        assert all(other < row and distance == (numbers[row] ^ numbers[other]).bit_count() for distance, other in found)


@hypothesis.given(families(), st.integers(1, HASH_BITS))
def test_only_proven_candidates_below_the_bound_count(numbers: list[int], bound: int) -> None:
    """Every second recording is no copy of any other."""
    asked: list[tuple[int, int]] = []

    def are_copies(one: int, other: int) -> bool:
        asked.append((one, other))
        return one % 2 == 0 and other % 2 == 0

    found = distances_to_copies(list(map(hexadecimal, numbers)), are_copies=are_copies, below_bits=bound)
    assert (found[1::2] == HASH_BITS).all()
    assert all(distance < bound or distance == HASH_BITS for distance in found.tolist())
    assert all((numbers[one] ^ numbers[other]).bit_count() < bound for one, other in asked)
    assert len(asked) <= MAX_CANDIDATES * len(numbers)


def test_an_empty_corpus_and_a_corpus_of_one_have_no_copies() -> None:
    assert distances([]) == []
    assert distances([5]) == [HASH_BITS]


@pytest.mark.slow
def test_ten_thousand_equal_recordings_are_found_in_little_time() -> None:
    assert (np.array(distances([5] * 10_000)) == np.array([HASH_BITS, *[0] * 9_999])).all()
