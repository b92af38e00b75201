"""The Parquet tables of a dataset: columns, types, reading, and writing with equal bytes for equal rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shared.files import write_bytes
from shared.storage_path import RemoteStoragePath, StoragePath

# A damaged table may have this many rows more than stated and is still read, to report what is wrong.
SPARE_ROWS = 1000
MAX_ROW_BYTES = 1 << 15


def _schema(columns: dict[str, pa.DataType]) -> pa.Schema:
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in columns.items()])


_TEXT, _COUNT, _NUMBER = pa.string(), pa.int64(), pa.float64()

# The position of a record.
_POSITION = {"split": _TEXT, "shard": _TEXT, "index": _COUNT, "offset_bytes": _COUNT, "length_bytes": _COUNT}

# Measured on one utterance.
_MEASURED = {
    "utterance_id": _TEXT,
    "language": _TEXT,
    "speaker": _TEXT,
    "text": _TEXT,
    "original_text": _TEXT,
    "audio_path": _TEXT,
    "audio_sha256": _TEXT,
    "audio_rate_hz": _COUNT,
    "frames": _COUNT,
    "duration_s": _NUMBER,
    "tokens": _COUNT,
    "unknown_tokens": _COUNT,
    "unknown_characters": _TEXT,
    "unread_numbers": _COUNT,
    "characters_per_second": _NUMBER,
    "peak": _NUMBER,
    "rms_db": _NUMBER,
    "clipped_fraction": _NUMBER,
    "dc_offset": _NUMBER,
    "silence_fraction": _NUMBER,
    "snr_db": _NUMBER,
    "bandwidth_hz": _NUMBER,
    "audio_hash": _TEXT,
    "custom": _TEXT,  # a JSON object: further columns of the corpus' metadata
}

# Measured by comparison with the other utterances of the corpus.
CORPUS_COLUMNS = {"duplicate_bits": _COUNT, "text_repeats": _COUNT, "text_leaks": pa.bool_()}

MANIFEST = _schema({**_POSITION, **_MEASURED, **CORPUS_COLUMNS})

# Columns that the manifests of older versions lack, and their value there.
_ADDED_SINCE = {"custom": "{}"}

REJECTED = _schema(dict.fromkeys(("utterance_id", "audio_path", "language", "stage", "reason", "message"), _TEXT))


def write_table(path: StoragePath, table: pa.Table, *, durable: bool = True) -> None:
    """Write a table; the same rows always give the same bytes."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    write_bytes(path, sink.getvalue().to_pybytes(), durable=durable)


def read_table(
    path: StoragePath,
    *,
    rows: int | None = None,
    columns: Sequence[str] | None = None,
    schema: pa.Schema | None = None,
) -> pa.Table:
    """Read a table from a disk or an object store.

    One thread reads it: `pyarrow.parquet.read_table` takes twice as long for a table as small as a shard's.

    Args:
        rows: the stated number of rows; a far larger table is not read.
        columns: the columns that are read; None: those of `schema`, or all.
        schema: the types of the columns; None: as they are stored.

    Raises:
        FileNotFoundError: there is no such table.
        pa.ArrowInvalid: the table is damaged, lacks a column, or is far larger than one of `rows` rows can be.
    """
    with pq.ParquetFile(parquet_source(path)) as file:
        if rows is not None:
            check_table_size(file.metadata, rows=rows)
        names = schema.names if columns is None and schema is not None else columns
        table = file.read(columns=names, use_threads=False)
    if names is not None:
        table = select_columns(table, names)
    return table if schema is None else table.cast(pa.schema([schema.field(name) for name in table.column_names]))


def select_columns(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """These columns in this order: `ParquetFile.read` keeps the file's order, and passes over absent ones.

    Raises:
        pa.ArrowInvalid: a column is absent.
    """
    table = with_added_columns(table, names=columns)
    if missing := sorted(set(columns) - set(table.column_names)):
        raise pa.ArrowInvalid(f"the table has no column {', '.join(missing)}")
    return table.select(list(columns))


def with_added_columns(table: pa.Table, *, names: Sequence[str]) -> pa.Table:
    """The table of a manifest; one of an older version gets those of these columns that it lacks, in their order."""
    absent = _ADDED_SINCE.keys() & set(names) - set(table.column_names)
    if not absent:
        return table
    for name in absent:
        table = table.append_column(MANIFEST.field(name), pa.array([_ADDED_SINCE[name]] * len(table), _TEXT))
    return table.select([name for name in names if name in table.column_names])


def check_table_size(metadata: pq.FileMetaData, *, rows: int) -> None:
    """Refuse a table that is far too large to read: a small file can hold very many equal rows.

    Raises:
        pa.ArrowInvalid: the table is far larger than one of `rows` rows can be.
    """
    most_rows = 2 * rows + SPARE_ROWS
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    size = sum(group.column(column).total_uncompressed_size for group in groups for column in range(group.num_columns))
    if metadata.num_rows > most_rows or size > most_rows * MAX_ROW_BYTES:
        message = f"{metadata.num_rows} rows, {size / 2**20:.1f} MiB without compression"
        raise pa.ArrowInvalid(f"{message}: far more than {rows} rows take; it was not read")


def parquet_source(path: StoragePath) -> StoragePath | pa.BufferReader:
    """The file as pyarrow accepts it; from an object store it is fetched whole, because tables are small."""
    return pa.BufferReader(path.read_bytes()) if isinstance(path, RemoteStoragePath) else path


def take_rows(table: pa.Table, rows: Sequence[int] | np.ndarray) -> pa.Table:
    """Take rows by number; the texts of a corpus can exceed the two gigabytes that a `string` column holds."""
    large = [field.with_type(pa.large_string()) if field.type == pa.string() else field for field in table.schema]
    return table.cast(pa.schema(large)).take(pa.array(rows, pa.int64()))
