"""The rows of a manifest, as an inspection reads them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shared.layout import ShardName
from shared.storage_path import StoragePath
from shared.tables import parquet_source

# What is held against other shards.
COMPARED_COLUMNS = ("utterance_id", "audio_sha256", "original_text", "text_leaks")


class ManifestRow(NamedTuple):
    """What a manifest says of one record and a record says of itself, then where it stands."""

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
    """All rows, in order."""
    columns = [table[name].to_pylist() for name in ManifestRow._fields]
    return list(map(ManifestRow._make, zip(*columns, strict=True)))


def misplaced(table: pa.Table, *, stem: ShardName) -> dict[int, str]:
    """Rows whose split, shard or index are not those of their place, and why not."""
    wrong: dict[int, str] = {}
    for name, expected in (("split", stem.split), ("shard", str(stem))):
        column = table[name]
        if column.unique().to_pylist() not in ([], [expected]):
            wrong |= {
                index: f"its {name} is {expected!r}, the manifest says {found!r}"
                for index, found in enumerate(column.to_pylist())
                if found != expected
            }
    indices = table["index"].to_numpy()
    for index in np.flatnonzero(indices != np.arange(len(indices))).tolist():
        wrong[index] = f"its index is {index}, the manifest says {indices[index]}"
    return wrong


def read_compared_columns(path: StoragePath, *, more: tuple[str, ...] = ()) -> pa.Table | None:
    """The columns of a manifest that tell what must not stand twice, and `more`; None where it cannot be read."""
    try:
        return pq.ParquetFile(parquet_source(path)).read(columns=[*COMPARED_COLUMNS, *more], use_threads=False)
    except (pa.ArrowException, OSError):
        return None
