"""Pairs of recordings that were laid over each other and are no copies: later builds do not compare them again.

DATA/build_cache/no_copies.parquet
    pair            64 bits, from the first 64 bits of both recordings' sha256 and their order
    metadata:
        made_by     the preparation fingerprint, the version of the comparison, and those of libraries and processor

A pair that the file does not hold, or holds no longer because it is damaged, is compared again. Copies are not in it.
"""

from __future__ import annotations

import array
import contextlib

import numpy as np
import pyarrow as pa

from pipelines.build.copy_proof import PROOF_VERSION
from pipelines.build.provenance import made_here
from shared.layout import Layout
from shared.storage_path import StoragePath
from shared.tables import read_table, write_table

PAIRS = pa.schema([pa.field("pair", pa.uint64(), nullable=False)])
_MADE_BY = b"made_by"
_ODD = 0x9E3779B97F4A7C15  # a multiplication by an odd number loses nothing
_WORD = 1 << 64


def no_copies_path(data: Layout) -> StoragePath:
    """The path of the pairs."""
    return data.build_cache / "no_copies.parquet"


class NoCopies:
    """The pairs of an earlier build, and those that this build compares."""

    def __init__(self, known: np.ndarray):
        self._known = np.unique(known.astype(np.uint64))  # sorted
        self._used = np.zeros(len(self._known), bool)
        self._new = array.array("Q")  # 8 bytes each

    @classmethod
    def read(cls, data: Layout, *, preparation: str) -> NoCopies:
        """The pairs of the published dataset; none if they are of another preparation, damaged or absent."""
        with contextlib.suppress(OSError, pa.ArrowException, KeyError):
            table = read_table(no_copies_path(data))
            if table.schema.equals(PAIRS) and (table.schema.metadata or {})[_MADE_BY] == _stamp(preparation):
                return cls(table["pair"].to_numpy())
        return cls(np.empty(0, np.uint64))

    def has(self, one: int, other: int) -> bool:
        """Whether an earlier build found these two recordings to be no copies; each is 64 bits of a sha256."""
        pair = _pair(one, other)
        place = int(np.searchsorted(self._known, np.uint64(pair)))
        is_known = place < len(self._known) and int(self._known[place]) == pair
        if is_known:
            self._used[place] = True
        return is_known

    def add(self, one: int, other: int) -> None:
        """Remember that these two recordings are no copies."""
        self._new.append(_pair(one, other))

    def write(self, staged: Layout, *, preparation: str) -> None:
        """Write the pairs that this build asked for; the others stay too, while they are not more than these."""
        asked = np.concatenate([self._known[self._used], np.frombuffer(self._new, np.uint64)])
        others = self._known[~self._used]
        kept = np.concatenate([asked, others]) if len(others) <= len(asked) else asked
        table = pa.table({"pair": np.unique(kept)}, schema=PAIRS)
        write_table(
            no_copies_path(staged), table.replace_schema_metadata({_MADE_BY: _stamp(preparation)}), durable=False
        )


def _stamp(preparation: str) -> bytes:
    versions = " ".join(f"{name} {version}" for name, (version,) in made_here().items())
    return f"{preparation} {PROOF_VERSION} {versions}".encode()


def _pair(one: int, other: int) -> int:
    return (one * _ODD + other) % _WORD
