"""Rows of Parquet files, one by one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from preprocess.corpora.rows import TableRow
from preprocess.utterance import Reason, Rejected
from shared.errors import UserError

ROWS_PER_BATCH = 1024


def read_parquet(path: Path, *, required: Sequence[str]) -> Iterator[TableRow]:
    """Yield the rows of a Parquet file; only the required columns are read.

    Raises:
        UserError: a required column is missing, or the file is damaged.
    """
    try:
        with pq.ParquetFile(path) as file:
            _check_columns(path, file.schema_arrow, required=required)
            numbers = itertools.count(1)
            for batch in file.iter_batches(ROWS_PER_BATCH, columns=list(required)):
                yield from (TableRow(next(numbers), _cells(batch, index)) for index in range(batch.num_rows))
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{path}: damaged, or no Parquet file: {' '.join(str(error).split())}") from error


def _check_columns(path: Path, schema: pa.Schema, *, required: Sequence[str]) -> None:
    if missing := [column for column in required if column not in schema.names]:
        raise UserError(f"{path}: no column {', '.join(missing)}; it has {', '.join(schema.names)}")
    for column in required:
        kind = schema.field(column).type
        if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            raise UserError(f"{path}: column {column} is {kind}; expected text")


def _cells(batch: pa.RecordBatch, index: int) -> dict[str, Any] | Rejected:
    try:
        return {name: batch.column(name)[index].as_py() for name in batch.schema.names}
    except UnicodeDecodeError as error:
        return Rejected(Reason.BAD_METADATA_ROW, f"not UTF-8: {error.reason}")
