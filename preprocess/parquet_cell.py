"""Reads a recording out of a cell of a Parquet file.

Hugging Face's `datasets` keeps the bytes of a recording in the field `bytes` of an audio column.
"""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from preprocess.utterance import Reason, Rejected

HELD_IN = "bytes"  # the field of an audio column that holds the recording; its `path` is where it once lay


def read_parquet_cell(file: io.FileIO, *, row: int, column: int, max_bytes: int) -> bytes:
    """Read the recording in a row of a Parquet file; the rows before it in its row group are decoded too.

    Args:
        file: the Parquet file.
        row: the row, from 1.
        column: the column, from 1: binary, or a struct with a field `bytes`, as of an audio column.
        max_bytes: the largest recording that is read.

    Raises:
        Rejected: the file is damaged, or has no such row or column; the row holds no recording, or a larger one.
        OSError: the disk failed.
    """
    try:
        with pq.ParquetFile(file) as table:
            cell = _cell(table, row=row, leaf=_leaf(table.schema_arrow, column=column))
    except (pa.ArrowException, ValueError) as error:  # ValueError: a name that is not UTF-8
        raise _damaged(error) from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise _damaged(error) from error  # pyarrow has OSError for some damages too
    if not cell.is_valid:
        raise Rejected(Reason.MISSING_AUDIO, f"row {row} holds no recording: the column has no bytes there")
    held: pa.Buffer = cell.as_buffer()
    if held.size > max_bytes:
        raise Rejected(Reason.UNDECODED_LENGTH, f"over {max_bytes} bytes in row {row}")
    return held.to_pybytes()


def recording_field(kind: pa.DataType) -> str | None:
    """The field of a column that holds recordings, "" if the column itself does; None if it holds none."""
    if pa.types.is_struct(kind) and kind.get_field_index(HELD_IN) >= 0:
        return HELD_IN if recording_field(kind.field(HELD_IN).type) == "" else None
    return "" if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) else None


def _leaf(schema: pa.Schema, *, column: int) -> tuple[str, ...]:
    """The names that lead to the bytes."""
    if column > len(schema):
        raise Rejected(Reason.MISSING_AUDIO, f"no column {column}: there are {len(schema)}")
    name, kind = schema.field(column - 1).name, schema.field(column - 1).type
    field = recording_field(kind)
    if field is None:
        raise Rejected(Reason.MISSING_AUDIO, f"column {name!r} is {str(kind)[:80]}, expected bytes")
    return (name, field) if field else (name,)


def _cell(table: pq.ParquetFile, *, row: int, leaf: tuple[str, ...]) -> pa.Scalar:
    """The value in a row; row groups before it are not read."""
    before = row - 1
    for group in range(table.num_row_groups):
        rows = table.metadata.row_group(group).num_rows
        if before < rows:
            break
        before -= rows
    else:
        raise Rejected(Reason.MISSING_AUDIO, f"no row {row}: there are {row - 1 - before}")
    for batch in table.iter_batches(1, row_groups=[group], columns=[".".join(leaf)], use_threads=False):
        if before == 0:
            values = batch.column(0)
            return values[0] if len(leaf) == 1 else pc.struct_field(values, leaf[1])[0]
        before -= 1
    raise Rejected(
        Reason.TRUNCATED_AUDIO, f"row group {group + 1} ends {before + 1} rows too early: row {row} is absent"
    )


def _damaged(error: Exception) -> Rejected:
    return Rejected(Reason.UNREADABLE_AUDIO, f"damaged, or no Parquet file: {' '.join(str(error).split())[:200]}")
