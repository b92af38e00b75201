"""Changes of utterances between two datasets: one table per kind of change."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.tables.join import Pairs, pair_rows
from pipelines.tables.load import WITH_RECORD, load_utterances, status_codes
from pipelines.tables.record_diff import compare_records
from preprocess.corpora.json_rows import json_object
from preprocess.utterance import Rejected
from shared.dataset import Dataset, ShardInfo
from shared.errors import UserError
from shared.tables import MANIFEST, take_rows

ID = "utterance_id"


class ChangeKind(NamedTuple):
    """One kind of change."""

    name: str
    title: str
    columns: tuple[str, ...]  # of the utterance tables, shown for both sides


# In the order of the output.
CHANGE_KINDS = (
    ChangeKind("damaged", "records that cannot be read", ()),
    ChangeKind("removed", "utterances that only A has", ("status", "reason", "split", "shard", "audio_path")),
    ChangeKind("added", "utterances that only B has", ("status", "reason", "split", "shard", "audio_path")),
    ChangeKind("status", "changed status", ("status", "reason", "message")),
    ChangeKind("message", "same status and reason, other message", ("reason", "message")),
    ChangeKind("moved", "moved to another split or shard", ("split", "shard")),
    ChangeKind("text", "changed texts", ("original_text", "text")),
    ChangeKind("language", "changed languages", ("language",)),
    ChangeKind("speaker", "changed speakers", ("speaker",)),
    ChangeKind("custom", "changed custom columns", ("custom",)),
    ChangeKind("audio", "changed audio files, by sha256", ("audio_path", "audio_sha256")),
    ChangeKind("path", "changed audio paths", ("audio_path",)),
    ChangeKind("tokens", "changed tokens", ()),
    ChangeKind("mel", "changed mels", ()),
    ChangeKind("record", "changed records, in any field", ()),
    ChangeKind("measures", "changed measurements", ()),
)
_KIND_BY_NAME = {kind.name: kind for kind in CHANGE_KINDS}

MEASURE_COLUMNS = tuple(
    field.name
    for field in MANIFEST
    if (not pa.types.is_string(field.type) or field.name in ("unknown_characters", "audio_hash"))
    and field.name not in ("index", "offset_bytes", "length_bytes")
)
_NAME = pa.dictionary(pa.int32(), pa.string())
MEASUREMENT_SCHEMA = pa.schema([(ID, _NAME), ("column", _NAME), ("a", pa.string()), ("b", pa.string())])

Changes = dict[str, pa.Table]


def differing_shards(a: Dataset, b: Dataset) -> tuple[list[ShardInfo], list[ShardInfo]]:
    """The shards of each dataset that the other lacks; equal shards have the same name and the same five files."""
    twins = {_identity(shard) for shard in a.info.shards} & {_identity(shard) for shard in b.info.shards}
    return tuple([shard for shard in side.info.shards if _identity(shard) not in twins] for side in (a, b))  # type: ignore[return-value]


def _identity(shard: ShardInfo) -> tuple[str, ...]:
    return shard.name, *shard.sha256_of_files()


def find_changes(a: Dataset, b: Dataset) -> Changes:
    """Find the changed utterances of every kind; a kind without changes has an empty table.

    A changed utterance is always in shards that differ, so equal shards are not read.

    Raises:
        UserError: a table or a shard cannot be read.
    """
    sides = zip((a, b), differing_shards(a, b), strict=True)
    names = ((one, [shard.name for shard in shards]) for one, shards in sides)
    rows_a, rows_b = rows = tuple(load_utterances(one, shard_names=shard_names) for one, shard_names in names)
    ranks_a, ranks_b = map(status_codes, rows)
    pairs = pair_rows(rows_a[ID], rows_b[ID], ranks_a=ranks_a, ranks_b=ranks_b)
    has_record = np.maximum(ranks_a[pairs.a], ranks_b[pairs.b]) < len(WITH_RECORD)
    recorded = pairs.where(has_record)
    changes = {
        "removed": _one_sided(rows_a, pairs.only_a, kind="removed"),
        "added": _one_sided(rows_b, pairs.only_b, kind="added"),
        **_pairwise(rows_a, rows_b, pairs, ranks=(ranks_a, ranks_b)),
        **_recorded(rows_a, rows_b, recorded),
        **compare_records(a, b, rows=(rows_a, rows_b), pairs=recorded)._asdict(),
        "measures": _measures(rows_a, rows_b, recorded),
    }
    return {kind.name: changes[kind.name] for kind in CHANGE_KINDS}


def _pairwise(rows_a: pa.Table, rows_b: pa.Table, pairs: Pairs, *, ranks: tuple[np.ndarray, np.ndarray]) -> Changes:
    """Changes that utterances without a record can have too."""
    status = ranks[0][pairs.a] != ranks[1][pairs.b]
    decided = status | _differ(rows_a, rows_b, pairs, ("reason",))
    masks = {
        "status": decided,
        "message": ~decided & _differ(rows_a, rows_b, pairs, ("message",)),
        "moved": _differ(rows_a, rows_b, pairs, ("shard",)),
        "language": _differ(rows_a, rows_b, pairs, ("language",)),
        "path": _differ(rows_a, rows_b, pairs, ("audio_path",)),
    }
    return {name: _two_sided(rows_a, rows_b, pairs.where(mask), kind=name) for name, mask in masks.items()}


def _recorded(rows_a: pa.Table, rows_b: pa.Table, pairs: Pairs) -> Changes:
    """Changes that only two records can have."""
    columns_of = {
        "text": ("original_text", "text"),
        "speaker": ("speaker",),
        "custom": ("custom",),
        "audio": ("audio_sha256",),
    }
    found = {
        name: _two_sided(rows_a, rows_b, pairs.where(_differ(rows_a, rows_b, pairs, columns)), kind=name)
        for name, columns in columns_of.items()
    }
    found["custom"] = _differing_keys(found["custom"])
    return found


def _differing_keys(changed: pa.Table) -> pa.Table:
    """The changed custom columns: of each JSON object, the keys whose values differ.

    Raises:
        UserError: a manifest was changed by hand, and has no JSON object.
    """
    try:
        sides = [[json_object(one) for one in changed[side].to_pylist()] for side in ("custom_a", "custom_b")]
    except Rejected as error:
        raise UserError(f"the column custom of a manifest: {error.message}; run `make validate`") from error
    for before, after in zip(*sides, strict=True):
        for key in before.keys() & after.keys():
            if json.dumps(before[key]) == json.dumps(after[key]):  # in Python, 1 is True
                del before[key], after[key]
    written = ([json.dumps(one, ensure_ascii=False) for one in side] for side in sides)
    return pa.table([changed[ID], *(pa.array(side, pa.string()) for side in written)], names=changed.column_names)


def _differ(rows_a: pa.Table, rows_b: pa.Table, pairs: Pairs, columns: Sequence[str]) -> np.ndarray:
    """True for pairs that differ in any of the columns, [N] bool."""
    found = np.zeros(len(pairs.a), bool)
    for column in columns:
        before, after = _values(rows_a, column, pairs.a), _values(rows_b, column, pairs.b)
        found |= pc.not_equal(before, after).to_numpy(zero_copy_only=False).astype(bool)
    return found


def _values(rows: pa.Table, column: str, numbers: np.ndarray) -> pa.Array:
    """The values of a column at these rows."""
    return take_rows(rows.select([column]), numbers)[column].combine_chunks()


def _one_sided(rows: pa.Table, numbers: np.ndarray, *, kind: str) -> pa.Table:
    return pa.table({name: _decoded(rows, name, numbers) for name in (ID, *_KIND_BY_NAME[kind].columns)})


def _two_sided(rows_a: pa.Table, rows_b: pa.Table, pairs: Pairs, *, kind: str) -> pa.Table:
    columns = {ID: _decoded(rows_a, ID, pairs.a)}
    for name in _KIND_BY_NAME[kind].columns:
        columns |= {f"{name}_a": _decoded(rows_a, name, pairs.a), f"{name}_b": _decoded(rows_b, name, pairs.b)}
    return pa.table(columns)


def _decoded(rows: pa.Table, column: str, numbers: np.ndarray) -> pa.Array:
    """The values at these rows, with dictionaries decoded."""
    values = _values(rows, column, numbers)
    return values.cast(pa.string()) if pa.types.is_dictionary(values.type) else values


def _measures(rows_a: pa.Table, rows_b: pa.Table, pairs: Pairs) -> pa.Table:
    """One row per utterance and measurement with another value; all parts share one dictionary of ids."""
    ids = _values(rows_a, ID, pairs.a).cast(pa.string())
    parts = []
    for number, column in enumerate(MEASURE_COLUMNS):
        differ = _differ(rows_a, rows_b, pairs, (column,))
        found = pairs.where(differ)
        names = pa.array(np.full(len(found.a), number, np.int32))
        values = [_values(rows, column, at).cast(pa.string()) for rows, at in ((rows_a, found.a), (rows_b, found.b))]
        keys = (
            pa.DictionaryArray.from_arrays(pa.array(np.flatnonzero(differ).astype(np.int32)), ids),
            pa.DictionaryArray.from_arrays(names, pa.array(MEASURE_COLUMNS)),
        )
        parts.append(pa.table([*keys, *values], schema=MEASUREMENT_SCHEMA))
    return pa.concat_tables(parts)
