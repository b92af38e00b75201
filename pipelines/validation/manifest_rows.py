"""Manifest rows as validation compares them with records."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shared.layout import ShardName
from shared.storage_path import StoragePath
from shared.tables import parquet_source

# Columns that are compared across shards.
COMPARED_COLUMNS = ("utterance_id", "audio_sha256", "original_text", "text_leaks")


class ManifestRow(NamedTuple):
    """The columns that a record repeats, then the position of the record in its shard."""

    utterance_id: str
    frames: int
    tokens: int
    unknown_tokens: int
    language: str
    speaker: str
    text: str
    offset_bytes: int
    length_bytes: int


def parse_rows(table: pa.Table) -> list[ManifestRow]:
    """All rows of a manifest, in order."""
    columns = [table[name].to_pylist() for name in ManifestRow._fields]
    return list(map(ManifestRow._make, zip(*columns, strict=True)))


def misplaced(table: pa.Table, *, shard_name: ShardName) -> dict[int, str]:
    """Messages by index for rows whose split, shard or index contradicts their position."""
    wrong: dict[int, str] = {}
    for name, expected in (("split", shard_name.split), ("shard", str(shard_name))):
        column = table[name]
        if column.unique().to_pylist() not in ([], [expected]):
            wrong |= {
                index: f"its {name} is {expected!r}, the manifest has {found!r}"
                for index, found in enumerate(column.to_pylist())
                if found != expected
            }
    indices = table["index"].to_numpy()
    for index in np.flatnonzero(indices != np.arange(len(indices))).tolist():
        wrong[index] = f"its index is {index}, the manifest has {indices[index]}"
    return wrong


def read_compared_columns(path: StoragePath, *, extra_columns: tuple[str, ...] = ()) -> pa.Table | None:
    """The columns for the cross-shard checks, and `extra_columns`; None if the manifest cannot be read."""
    try:
        return pq.ParquetFile(parquet_source(path)).read(columns=[*COMPARED_COLUMNS, *extra_columns], use_threads=False)
    except (pa.ArrowException, OSError):
        return None
