"""Rows of two tables are paired by id, as often as the id occurs on both sides."""

from __future__ import annotations

import collections

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pyarrow as pa

from pipelines.tables.join import pair_rows

IDS = st.lists(st.tuples(st.sampled_from("abcdeé"), st.integers(0, 2)), max_size=12)


@hypothesis.given(IDS, IDS)
def test_rows_are_paired_as_often_as_their_id_stands_on_both_sides(
    a: list[tuple[str, int]], b: list[tuple[str, int]]
) -> None:
    ids = [pa.chunked_array([[name for name, _ in side]], pa.string()) for side in (a, b)]
    ranks = [np.array([rank for _, rank in side], np.int8) for side in (a, b)]
    pairs = pair_rows(*ids, ranks_a=ranks[0], ranks_b=ranks[1])
    common = collections.Counter(name for name, _ in a) & collections.Counter(name for name, _ in b)
    assert collections.Counter(a[row][0] for row in pairs.a) == common
    assert [a[row][0] for row in pairs.a] == [b[row][0] for row in pairs.b]
    assert sorted([*pairs.a, *pairs.only_a]) == list(range(len(a)))
    assert sorted([*pairs.b, *pairs.only_b]) == list(range(len(b)))
    for name in common:  # those of the lowest ranks
        taken = sorted(a[row][1] for row in pairs.a if a[row][0] == name)
        assert taken == sorted(rank for other, rank in a if other == name)[: len(taken)]
