"""Candidates for copies, compared with brute force."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from pipelines.build.copy_proof import MAX_SPEED_CHANGE
from pipelines.build.near_duplicates import MAX_CANDIDATES, MAX_CUT_S, Recordings, find_copies, hash_words
from preprocess.check_config import HASH_BITS


class Corpus(NamedTuple):
    numbers: list[int]  # hashes
    durations_s: list[float]

    def recordings(self) -> Recordings:
        hashes = [number.to_bytes(HASH_BITS // 8, "big").hex() for number in self.numbers]
        return Recordings(hash_words(hashes), np.array(self.durations_s))

    def candidates(self, later: int, *, below_bits: int, known: int = 0) -> list[tuple[int, int]]:
        """(distance, number) of the nearest earlier recordings of about the same length, by brute force."""
        found = []
        for earlier in range(later if later >= known else 0):
            shorter, longer = sorted([self.durations_s[later], self.durations_s[earlier]])
            distance = (self.numbers[later] ^ self.numbers[earlier]).bit_count()
            if distance < below_bits and longer < shorter * (1 + MAX_SPEED_CHANGE) + MAX_CUT_S:
                found.append((distance, earlier))
        return sorted(found)[:MAX_CANDIDATES]


@st.composite
def corpora(draw: st.DrawFn) -> Corpus:
    """Recordings of like and unlike lengths; some hashes differ from others in a few bits."""
    numbers = draw(st.lists(st.integers(0, 2**HASH_BITS - 1), min_size=1, max_size=8))
    for _ in range(draw(st.integers(0, 12))):
        changed = draw(st.lists(st.integers(0, HASH_BITS - 1), max_size=40, unique=True))
        numbers.append(draw(st.sampled_from(numbers)) ^ sum(1 << bit for bit in changed))
    numbers = draw(st.permutations(numbers))
    duration_s = st.sampled_from([1.0, 1.3, 1.7, 4.0, 4.6, 5.0, 5.5])
    return Corpus(numbers, draw(st.lists(duration_s, min_size=len(numbers), max_size=len(numbers))))


def some_are_copies(one: int, other: int) -> bool:
    return (one * 7 + other * 3) % 5 < 3


@pytest.mark.slow
@hypothesis.given(corpora(), st.integers(1, HASH_BITS), st.integers(0, 20))
@pytest.mark.parametrize("are_copies", [lambda *_: True, some_are_copies], ids=["all", "some"])
def test_the_original_is_the_nearest_candidate_that_is_proven(
    are_copies: Callable[[int, int], bool], corpus: Corpus, below_bits: int, known: int
) -> None:
    found = find_copies(corpus.recordings(), known=known, are_copies=are_copies, below_bits=below_bits)
    for later in range(len(corpus.numbers)):
        candidates = corpus.candidates(later, below_bits=below_bits, known=known)
        expected = next((one for one in candidates if are_copies(later, one[1])), (HASH_BITS, -1))
        assert (found.bits[later], found.originals[later]) == expected


def test_blocks_of_the_comparison_miss_no_pair() -> None:
    """More recordings than fit one block, in random order."""
    chance = np.random.default_rng(3)
    hashes = chance.integers(0, 2**63, (9_000, 2), dtype=np.uint64)
    durations_s = chance.uniform(1.0, 10.0, 9_000)
    originals, copies = chance.permutation(9_000).reshape(2, -1)
    hashes[copies] = hashes[originals] ^ np.array([0b10110, 1 << 60], np.uint64)
    durations_s[copies] = durations_s[originals] * 1.03
    found = find_copies(Recordings(hashes, durations_s), are_copies=lambda *_: True, below_bits=25)
    later, earlier = np.maximum(originals, copies), np.minimum(originals, copies)
    assert (found.originals[later] == earlier).all()
    assert (found.bits[later] == 4).all()
    assert np.count_nonzero(found.originals >= 0) == len(later)


@pytest.mark.parametrize("clips", [0, 1])
def test_an_empty_corpus_and_a_corpus_of_one_have_no_copies(clips: int) -> None:
    found = find_copies(Corpus([5] * clips, [1.0] * clips).recordings(), are_copies=lambda *_: True)
    assert found.originals.tolist() == [-1] * clips


@pytest.mark.slow
def test_ten_thousand_equal_recordings_are_found_in_little_time() -> None:
    found = find_copies(Corpus([5] * 10_000, [2.0] * 10_000).recordings(), are_copies=lambda *_: True)
    assert found.bits.tolist() == [HASH_BITS, *[0] * 9_999]
