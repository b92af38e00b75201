"""The tables of a dataset: columns, types, and how they are written so that equal rows give equal bytes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from shared.files import write_bytes
from shared.place import Place, RemotePlace


def _schema(columns: dict[str, pa.DataType]) -> pa.Schema:
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in columns.items()])


_TEXT, _COUNT, _NUMBER = pa.string(), pa.int64(), pa.float64()

# Where a record stands.
_PLACE = {"split": _TEXT, "shard": _TEXT, "index": _COUNT, "offset_bytes": _COUNT, "length_bytes": _COUNT}

# What the preparation of one utterance found.
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
}

# What only the company of other utterances shows.
COMPARED = {"duplicate_bits": _COUNT, "text_repeats": _COUNT, "text_leaks": pa.bool_()}

MANIFEST = _schema({**_PLACE, **_MEASURED, **COMPARED})

REJECTED = _schema(dict.fromkeys(("utterance_id", "audio_path", "language", "stage", "reason", "message"), _TEXT))


def write_table(path: Place, table: pa.Table, *, durable: bool = True) -> None:
    """Write a table so that the same rows give the same bytes."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    write_bytes(path, sink.getvalue().to_pybytes(), durable=durable)


def read_table(path: Place, **options: Any) -> pa.Table:
    """A table from wherever it lies, with the options of `pyarrow.parquet.read_table`."""
    return pq.read_table(table_source(path), **options)


def table_source(path: Place) -> Place | pa.BufferReader:
    """What pyarrow takes as a file: one elsewhere is fetched whole, as tables are small beside their records."""
    return pa.BufferReader(path.read_bytes()) if isinstance(path, RemotePlace) else path
