"""One of two datasets as columns: a row for every utterance that it knows of, whatever became of it."""

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

# In the order of preference: of several rows with one id the first is the one that training hears.
KEPT, FILTERED, REJECTED_ = STATUSES = ("kept", "filtered", "rejected")
WITH_RECORD = (KEPT, FILTERED)

_STATUS = pa.schema(
    [
        pa.field("status", pa.dictionary(pa.int8(), pa.string())),
        pa.field("reason", pa.string()),
        pa.field("message", pa.string()),
    ]
)
# What a row without a record knows.
_KNOWN = ("utterance_id", "audio_path", "language", "reason", "message")
UTTERANCE_SCHEMA = pa.schema([*(pa.field(one.name, one.type) for one in MANIFEST), *_STATUS])


def load_utterances(dataset: Dataset, *, stems: Iterable[str]) -> pa.Table:
    """The rows of these shards, kept, filtered and rejected, in the columns of `UTTERANCE_SCHEMA`.

    Raises:
        UserError: a table cannot be read.
    """
    parts = [part for stem in stems for part in _parts(dataset, stem=stem)]
    return pa.concat_tables(parts) if parts else UTTERANCE_SCHEMA.empty_table()


def _parts(dataset: Dataset, *, stem: str) -> list[pa.Table]:
    layout = dataset.layout
    kept = load_table(layout.manifest(stem), columns=tuple(MANIFEST.names))
    filtered = load_table(layout.withheld_manifest(stem), columns=tuple(MANIFEST.names))
    turned_away = load_table(layout.rejected(stem), columns=tuple(REJECTED.names))
    selected = pc.equal(turned_away["stage"], FILTER_STAGE)
    # the rejected utterances with a record are in the order of the filtered manifest
    reasons, without = turned_away.filter(selected), turned_away.filter(pc.invert(selected))
    if len(reasons) != len(filtered):
        raise UserError(
            f"{layout.rejected(stem)}: {len(reasons)} rows of the stage {FILTER_STAGE!r}, but {len(filtered)} filtered "
            "records; `make validate` says more"
        )
    empty = pa.array([""] * len(kept), pa.string())
    return [
        _complete(kept, {"reason": empty, "message": empty}, status=KEPT),
        _complete(filtered, {name: reasons[name] for name in ("reason", "message")}, status=FILTERED),
        _complete(pa.table({name: without[name] for name in _KNOWN}), _place(stem, len(without)), status=REJECTED_),
    ]


def _place(stem: str, count: int) -> dict[str, pa.Array]:
    return {"split": pa.repeat(ShardName.parse(stem).split, count), "shard": pa.repeat(stem, count)}


def _complete(table: pa.Table, more: dict[str, pa.Array], *, status: str) -> pa.Table:
    """All columns of `UTTERANCE_SCHEMA`; null where nothing is known."""
    count = len(table)
    codes = pa.array(np.full(count, STATUSES.index(status), np.int8))
    known = {name: table[name] for name in table.column_names} | more
    known["status"] = pa.DictionaryArray.from_arrays(codes, pa.array(STATUSES))
    columns = [known[one.name] if one.name in known else pa.nulls(count, one.type) for one in UTTERANCE_SCHEMA]
    return pa.table(columns, schema=UTTERANCE_SCHEMA)


def status_codes(rows: pa.Table) -> np.ndarray:
    """The place of each row's status in `STATUSES`, [N]."""
    return np.concatenate([np.zeros(0, np.int8), *(chunk.indices.to_numpy() for chunk in rows["status"].chunks)])
