"""Loads a dataset as one table with a row per utterance: kept, filtered or rejected."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.tables.columns import load_table
from preprocess.utterance import FILTER_STAGE
from shared.dataset import Dataset
from shared.errors import UserError
from shared.layout import ShardName
from shared.tables import MANIFEST, REJECTED

# In order of preference: of several rows with one id, training reads the first.
KEPT, FILTERED, REJECTED_ = STATUSES = ("kept", "filtered", "rejected")
WITH_RECORD = (KEPT, FILTERED)

_STATUS = pa.schema(
    [
        pa.field("status", pa.dictionary(pa.int8(), pa.string())),
        pa.field("reason", pa.string()),
        pa.field("message", pa.string()),
    ]
)
# Columns of a row without a record.
_KNOWN = ("utterance_id", "audio_path", "language", "reason", "message")
UTTERANCE_SCHEMA = pa.schema([*(pa.field(one.name, one.type) for one in MANIFEST), *_STATUS])


def load_utterances(dataset: Dataset, *, shard_names: Iterable[str]) -> pa.Table:
    """The kept, filtered and rejected rows of these shards, with the columns of `UTTERANCE_SCHEMA`.

    Raises:
        UserError: a table cannot be read.
    """
    parts = [part for shard_name in shard_names for part in _parts(dataset, shard_name=shard_name)]
    return pa.concat_tables(parts) if parts else UTTERANCE_SCHEMA.empty_table()


def _parts(dataset: Dataset, *, shard_name: str) -> list[pa.Table]:
    layout = dataset.layout
    kept = load_table(layout.manifest(shard_name), columns=tuple(MANIFEST.names))
    filtered = load_table(layout.withheld_manifest(shard_name), columns=tuple(MANIFEST.names))
    not_kept = load_table(layout.rejected(shard_name), columns=tuple(REJECTED.names))
    selected = pc.equal(not_kept["stage"], FILTER_STAGE)
    # rejected rows with a record are in the order of the filtered manifest
    reasons, without_record = not_kept.filter(selected), not_kept.filter(pc.invert(selected))
    if len(reasons) != len(filtered):
        counts = f"{len(reasons)} rows of the stage {FILTER_STAGE!r}, but {len(filtered)} filtered records"
        raise UserError(f"{layout.rejected(shard_name)}: {counts}; run `make validate` for details")
    empty = pa.array([""] * len(kept), pa.string())
    return [
        _complete(kept, {"reason": empty, "message": empty}, status=KEPT),
        _complete(filtered, {name: reasons[name] for name in ("reason", "message")}, status=FILTERED),
        _complete(
            pa.table({name: without_record[name] for name in _KNOWN}),
            _split_and_shard(shard_name, len(without_record)),
            status=REJECTED_,
        ),
    ]


def _split_and_shard(shard_name: str, count: int) -> dict[str, pa.Array]:
    return {"split": pa.repeat(ShardName.parse(shard_name).split, count), "shard": pa.repeat(shard_name, count)}


def _complete(table: pa.Table, extra: dict[str, pa.Array], *, status: str) -> pa.Table:
    """Add the missing columns of `UTTERANCE_SCHEMA`, filled with null."""
    count = len(table)
    codes = pa.array(np.full(count, STATUSES.index(status), np.int8))
    columns_by_name = {name: table[name] for name in table.column_names} | extra
    columns_by_name["status"] = pa.DictionaryArray.from_arrays(codes, pa.array(STATUSES))
    columns = [
        columns_by_name[one.name] if one.name in columns_by_name else pa.nulls(count, one.type)
        for one in UTTERANCE_SCHEMA
    ]
    return pa.table(columns, schema=UTTERANCE_SCHEMA)


def status_codes(rows: pa.Table) -> np.ndarray:
    """The index of each row's status in `STATUSES`, [N]."""
    return np.concatenate([np.zeros(0, np.int8), *(chunk.indices.to_numpy() for chunk in rows["status"].chunks)])
