"""Columns of all tables of one kind, as one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shared.errors import UserError
from shared.layout import ShardName
from shared.storage_path import StoragePath
from shared.tables import parquet_source

# What the page needs to know of every record.
RECORD_COLUMNS = (
    "language",
    "speaker",
    "duration_s",
    "tokens",
    "unknown_tokens",
    "unknown_characters",
    "unread_numbers",
    "characters_per_second",
    "rms_db",
    "snr_db",
    "bandwidth_hz",
    "duplicate_bits",
    "text_repeats",
    "text_leaks",
)
REJECTION_COLUMNS = ("stage", "reason", "language")


class DatasetRows(NamedTuple):
    """The rows of many shards, one behind another, with `source` and `split`, which the shard's name says."""

    table: pa.Table
    stems: list[str]
    starts: np.ndarray  # [shards + 1]
    path_of: Callable[[str], StoragePath]

    def numbers(self, column: str) -> np.ndarray:
        """[N]"""
        return self.table[column].to_numpy()

    def codes(self, column: str) -> tuple[np.ndarray, list[str]]:
        """A text column as [N] numbers of its different values, and these."""
        encoded = self.table[column].combine_chunks().dictionary_encode()
        return encoded.indices.to_numpy(), encoded.dictionary.to_pylist()

    def place(self, row: int) -> tuple[str, int]:
        """The shard of a row, and its index in there."""
        shard = int(np.searchsorted(self.starts, row, side="right")) - 1
        return self.stems[shard], row - int(self.starts[shard])

    def whole(self, row: int) -> dict[str, Any]:
        """Every column of one row."""
        stem, index = self.place(row)
        return load_table(self.path_of(stem)).slice(index, 1).to_pylist()[0]


def load_columns(
    stems: Iterable[str], *, path_of: Callable[[str], StoragePath], columns: tuple[str, ...]
) -> DatasetRows:
    """The columns of the tables of all these shards.

    Raises:
        UserError: one of them cannot be read.
    """
    stems = list(stems)
    tables = [_named(load_table(path_of(stem), columns=columns), stem=stem) for stem in stems]
    starts = np.cumsum([0, *(len(table) for table in tables)])
    return DatasetRows(pa.concat_tables(tables), stems, starts, path_of)


def load_table(path: StoragePath, *, columns: tuple[str, ...] | None = None) -> pa.Table:
    """One table.

    Raises:
        UserError: it cannot be read, or lacks a column.
    """
    try:
        table = pq.ParquetFile(parquet_source(path)).read(columns=columns)
        return table.select(columns) if columns else table
    except (OSError, KeyError, pa.ArrowException) as error:
        raise UserError(f"{path}: cannot be read ({str(error).splitlines()[0]}); `make validate` says more") from error


def _named(table: pa.Table, *, stem: str) -> pa.Table:
    name = ShardName.parse(stem)
    for column, value in (("source", name.source), ("split", name.split)):
        table = table.append_column(column, pa.repeat(value, len(table)))
    return table
