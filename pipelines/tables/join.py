"""Joins the rows of two tables by utterance id."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa


class Pairs(NamedTuple):
    """Row numbers: rows `a[i]` and `b[i]` belong to one utterance; `only_a` and `only_b` have no partner."""

    a: np.ndarray
    b: np.ndarray
    only_a: np.ndarray
    only_b: np.ndarray

    def where(self, mask: np.ndarray) -> Pairs:
        """The pairs that a mask selects, without the rows that have no partner."""
        none = np.zeros(0, np.int64)
        return Pairs(self.a[mask], self.b[mask], none, none)


def pair_rows(ids_a: pa.ChunkedArray, ids_b: pa.ChunkedArray, *, ranks_a: np.ndarray, ranks_b: np.ndarray) -> Pairs:
    """Pair rows by id; of several rows with one id, pair the first by rank with the first, and so on.

    Pairs are in the order of the first table.
    """
    codes = pa.chunked_array([*ids_a.chunks, *ids_b.chunks], pa.string()).combine_chunks()
    codes = codes.dictionary_encode().indices.to_numpy().astype(np.int64)
    keys_a = _occurrence_keys(codes[: len(ids_a)], ranks=ranks_a)
    keys_b = _occurrence_keys(codes[len(ids_a) :], ranks=ranks_b)
    _, a, b = np.intersect1d(keys_a, keys_b, assume_unique=True, return_indices=True)
    order = np.argsort(a, kind="stable")
    only_a = np.setdiff1d(np.arange(len(keys_a)), a, assume_unique=True)
    only_b = np.setdiff1d(np.arange(len(keys_b)), b, assume_unique=True)
    return Pairs(a[order], b[order], only_a, only_b)


def _occurrence_keys(codes: np.ndarray, *, ranks: np.ndarray) -> np.ndarray:
    """A key for each row, [N], from its id and the number of rows of that id before it by rank."""
    order = np.lexsort((ranks, codes))
    in_order = codes[order]
    is_first = np.diff(in_order, prepend=-1) != 0
    starts = np.flatnonzero(is_first)
    occurrence = np.arange(len(codes)) - np.repeat(starts, np.diff(starts, append=len(codes)))
    keys = np.empty(len(codes), np.int64)
    keys[order] = (in_order << 24) | occurrence
    return keys
