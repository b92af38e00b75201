"""Loads columns of the manifests, or of the tables of rejected utterances, of many shards as one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shared.errors import UserError
from shared.layout import ShardName
from shared.storage_path import StoragePath
from shared.tables import parquet_source, select_columns

# Columns of records that pages show.
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
    """Rows of many shards in order, with the columns `source` and `split` from the names of the shards."""

    table: pa.Table
    shard_names: list[str]
    starts: np.ndarray  # [shards + 1]
    path_of: Callable[[str], StoragePath]

    def numbers(self, column: str) -> np.ndarray:
        """A numeric column, [N]."""
        return self.table[column].to_numpy()

    def codes(self, column: str) -> tuple[np.ndarray, list[str]]:
        """A text column as [N] indices into its distinct values, and these values."""
        encoded = self.table[column].combine_chunks().dictionary_encode()
        return encoded.indices.to_numpy(), encoded.dictionary.to_pylist()

    def locate(self, row: int) -> tuple[str, int]:
        """The shard of a row, and the row's index in it."""
        shard = int(np.searchsorted(self.starts, row, side="right")) - 1
        return self.shard_names[shard], row - int(self.starts[shard])

    def full_row(self, row: int) -> dict[str, Any]:
        """All columns of one row."""
        shard_name, index = self.locate(row)
        return load_table(self.path_of(shard_name)).slice(index, 1).to_pylist()[0]


def load_columns(
    shard_names: Iterable[str], *, path_of: Callable[[str], StoragePath], columns: tuple[str, ...]
) -> DatasetRows:
    """Load columns of the tables of these shards; `path_of` maps the name of a shard to its table.

    Raises:
        UserError: a table cannot be read.
    """
    shard_names = list(shard_names)
    tables = [
        _named(load_table(path_of(shard_name), columns=columns), shard_name=shard_name) for shard_name in shard_names
    ]
    starts = np.cumsum([0, *(len(table) for table in tables)])
    return DatasetRows(pa.concat_tables(tables), shard_names, starts, path_of)


def load_table(path: StoragePath, *, columns: tuple[str, ...] | None = None) -> pa.Table:
    """Load one table.

    Raises:
        UserError: the table cannot be read, or lacks a column.
    """
    try:
        table = pq.ParquetFile(parquet_source(path)).read(columns=columns)
        return select_columns(table, columns) if columns else table
    except (OSError, KeyError, pa.ArrowException) as error:
        raise UserError(
            f"{path}: cannot be read ({str(error).splitlines()[0]}); run `make validate` for details"
        ) from error


def _named(table: pa.Table, *, shard_name: str) -> pa.Table:
    name = ShardName.parse(shard_name)
    for column, value in (("source", name.source), ("split", name.split)):
        table = table.append_column(column, pa.repeat(value, len(table)))
    return table
