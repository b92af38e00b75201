"""Rows of Parquet files, one by one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from preprocess.corpora.rows import TableRow
from preprocess.parquet_cell import HELD_IN, recording_field
from preprocess.utterance import Reason, Rejected
from shared.errors import UserError

ROWS_PER_BATCH, ROWS_WITH_PATHS_PER_BATCH = 1024, 16
# Of a column of a row group that is read, without compression. A small file can hold a text that unpacks to far more.
MAX_COLUMN_BYTES = 1 << 30
MAX_PATH_COLUMN_BYTES = 1 << 26


def read_parquet(path: Path, *, required: Sequence[str]) -> Iterator[TableRow]:
    """Yield the rows of a Parquet file; only the required columns are read.

    Raises:
        UserError: a required column is missing, or the file is damaged.
    """
    _schema(path, required=required)
    return _read(path, columns=required)


def read_recording_rows(path: Path, *, audio: str, required: Sequence[str]) -> tuple[int, Iterator[TableRow]]:
    """The rows of a Parquet file that holds recordings; the recordings themselves are not read.

    Args:
        path: of the file.
        audio: the column of the recordings: bytes, or structs with a field `bytes`.
        required: the other columns that are read.

    Returns:
        The number of the column of the recordings, from 1; and the rows, in which that column has what else is in its
        structs: their field `path`, if there is one.

    Raises:
        UserError: a column is missing or of another kind, or the file is damaged.
    """
    schema = _schema(path, required=required, present=[audio])
    number = schema.names.index(audio)
    kind = schema.field(number).type
    if recording_field(kind) is None:
        raise UserError(
            f"{path}: column {audio} is {str(kind)[:80]}; expected the bytes of recordings, or structs with a field "
            f"{HELD_IN}; the reader of a table with paths of recordings is `table`"
        )
    named = [f"{audio}.path"] if pa.types.is_struct(kind) and pa.field("path", pa.string()) in list(kind) else []
    return number + 1, _read(path, columns=required, paths=named)


def _read(path: Path, *, columns: Sequence[str], paths: Sequence[str] = ()) -> Iterator[TableRow]:
    """Yield rows; a text that many rows have in common is held once, but for `paths` within a struct."""
    at_once = ROWS_WITH_PATHS_PER_BATCH if paths else ROWS_PER_BATCH
    try:
        with pq.ParquetFile(path, read_dictionary=list(columns)) as file:
            _check_sizes(path, file.metadata, columns=columns, most=MAX_COLUMN_BYTES)
            _check_sizes(path, file.metadata, columns=paths, most=MAX_PATH_COLUMN_BYTES)
            numbers = itertools.count(1)
            for batch in file.iter_batches(at_once, columns=[*columns, *paths]):
                yield from (TableRow(next(numbers), _cells(batch, index)) for index in range(batch.num_rows))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _damaged(path, error) from error


def _check_sizes(path: Path, metadata: pq.FileMetaData, *, columns: Sequence[str], most: int) -> None:
    """Raise UserError for a column of a row group that would take unbounded memory."""
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            if column.path_in_schema in columns and column.total_uncompressed_size > most:
                taken = f"{path}: column {column.path_in_schema} takes {column.total_uncompressed_size >> 20:,} MiB"
                raise UserError(
                    f"{taken} in a row group, expected at most {most >> 20:,}; write it with smaller row groups"
                )


def _damaged(path: Path, error: Exception) -> UserError:
    return UserError(f"{path}: damaged, or no Parquet file: {' '.join(str(error).split())}")


def _schema(path: Path, *, required: Sequence[str], present: Sequence[str] = ()) -> pa.Schema:
    """The columns of a file.

    Raises:
        UserError: one of these is missing or stands twice, or a required one can hold no text; or the file is damaged.
    """
    try:
        schema = pq.read_schema(path)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _damaged(path, error) from error
    if missing := [column for column in (*required, *present) if column not in schema.names]:
        raise UserError(f"{path}: no column {', '.join(missing)}; it has {', '.join(schema.names)}")
    if twice := [column for column in (*required, *present) if schema.names.count(column) > 1]:
        raise UserError(f"{path}: {schema.names.count(twice[0])} columns {twice[0]}; expected one")
    _check_columns(path, schema, required=required)
    return schema


def _check_columns(path: Path, schema: pa.Schema, *, required: Sequence[str]) -> None:
    for column in required:
        kind = schema.field(column).type
        of_other_kinds = (pa.types.is_nested, pa.types.is_binary, pa.types.is_large_binary, pa.types.is_temporal)
        if any(is_of(kind) for is_of in of_other_kinds):
            raise UserError(f"{path}: column {column} is {kind}; expected text or numbers")


def _cells(batch: pa.RecordBatch, index: int) -> dict[str, Any] | Rejected:
    try:
        return {name: batch.column(name)[index].as_py() for name in batch.schema.names}
    except UnicodeDecodeError as error:
        return Rejected(Reason.BAD_METADATA_ROW, f"not UTF-8: {error.reason}")
