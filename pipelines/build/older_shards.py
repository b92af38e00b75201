"""Shards that an earlier build prepared: published ones, and those of an interrupted build."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.build.build_cache import CachedShard
from pipelines.build.staging import FAILED_ROWS, FILE, PREPARED_ROWS, STAGED, STATE, Staging
from preprocess.utterance import CRASH_STAGE, Reason, Rejection
from shared.files import file_sha256
from shared.layout import Layout
from shared.tables import MANIFEST, REJECTED, read_table
from shared.tfrecord import CorruptTFRecord, read_framed_records

# The stages whose rejections follow from the utterance alone.
_OWN_STAGES = ("text", "audio", CRASH_STAGE)


class OlderRow(NamedTuple):
    """A row of a table of prepared rows."""

    table: pa.Table
    row: int


class OlderShard:
    """The prepared rows and the rejections of one shard, by input state and by id.

    Args:
        places: (input state, table, row) of each utterance; the table is a name in `tables`, or `rejected`.
        tables: reads the prepared rows, by table.
        rejected: reads the rejections.
    """

    def __init__(
        self,
        places: Iterable[tuple[bytes, str, int]],
        *,
        tables: Callable[[], dict[str, pa.Table]],
        rejected: Callable[[], pa.Table],
    ):
        self._places = {state: (table, row) for state, table, row in places}
        self._read_tables, self._read_rejected = tables, rejected

    def find(self, state: bytes) -> OlderRow | Rejection | None:
        """The prepared row or the rejection of the utterance with this input state."""
        table, row = self._places.get(state, ("", 0))
        if table == "rejected":
            found = self._rejected[row]
            return found if found.stage in _OWN_STAGES else None
        return OlderRow(self._tables[table], row) if table else None

    def find_id(self, utterance_id: str) -> OlderRow | None:
        """The prepared row of the utterance with this id."""
        table, row = self._ids.get(utterance_id, ("", 0))
        return OlderRow(self._tables[table], row) if table else None

    @functools.cached_property
    def _tables(self) -> dict[str, pa.Table]:
        return self._read_tables()

    @functools.cached_property
    def _ids(self) -> dict[str, tuple[str, int]]:
        return {
            utterance_id: (name, row)
            for name, table in self._tables.items()
            for row, utterance_id in enumerate(table["utterance_id"].to_pylist())
        }

    @functools.cached_property
    def _rejected(self) -> list[Rejection]:
        rows = self._read_rejected().select(REJECTED.names).to_pylist()
        return [Rejection(id=row.pop("utterance_id"), reason=Reason(row.pop("reason")), **row) for row in rows]


def published_shard(cached: CachedShard, *, data: Layout) -> OlderShard:
    """A published shard; its tables are read when they are first needed."""
    name = cached.report.info.name
    columns = (cached.rows[column].to_pylist() for column in ("state", "table", "row"))
    return OlderShard(
        zip(*columns, strict=True),
        tables=lambda: published_rows(name, data=data, states=cached.states),
        rejected=lambda: read_table(data.rejected(name), schema=REJECTED),
    )


def published_rows(shard_name: str, *, data: Layout, states: Callable[[str, int], list[bytes]]) -> dict[str, pa.Table]:
    """The prepared rows of a published shard by the folder of their records: `shards` and `withheld`.

    Args:
        states: gives the input states of a folder's rows, from its name and their number.
    """
    manifests = {
        "shards": read_table(data.manifest(shard_name), schema=MANIFEST),
        "withheld": read_table(data.withheld_manifest(shard_name), schema=MANIFEST),
    }
    return {
        folder: _prepared_rows(
            manifest,
            file=records_file(shard_name, folder=folder),
            states=states(folder, len(manifest)),
        )
        for folder, manifest in manifests.items()
    }


def records_file(shard_name: str, *, folder: str) -> str:
    """The path of a published shard's records relative to the dataset: a value of the column FILE."""
    return f"{folder}/{shard_name}.tfrecord"


def _prepared_rows(manifest: pa.Table, *, file: str, states: list[bytes]) -> pa.Table:
    table = manifest.select([name for name in PREPARED_ROWS.names if name not in (FILE, STATE)])
    table = table.append_column(PREPARED_ROWS.field(FILE), pa.array([file] * len(table), pa.string()))
    return table.append_column(PREPARED_ROWS.field(STATE), pa.array(states, pa.binary()))


def is_intact(cached: CachedShard, *, data: Layout) -> bool:
    """Whether a shard's files are the published ones: unchanged since, or at least with the sha256 of dataset.json."""
    if cached.has_intact_files(data=data):
        return True
    info = cached.report.info
    paths = data.shard_files(info.name)
    with contextlib.suppress(OSError):  # a bad sector: the utterances are prepared again
        if all(path.is_file() for path in paths) and paths[0].stat().st_size == info.bytes:
            return all(file_sha256(path) == stated for path, stated in zip(paths, info.sha256_of_files(), strict=True))
    return False


def interrupted_shard(shard_name: str, *, staging: Staging, data: Layout) -> OlderShard | None:
    """A shard that an interrupted build finished preparing; None if it is incomplete or damaged.

    Only what that build prepared itself is in it: what it took over is still in the published dataset.
    """
    try:
        rows = read_table(staging.rows_path(shard_name), schema=PREPARED_ROWS)
        failed = read_table(staging.failed_path(shard_name), schema=FAILED_ROWS)
        made = rows.filter(pc.equal(rows[FILE], STAGED))
        with staging.records_path(shard_name).open("rb") as file:
            if [found.offset_bytes for found in read_framed_records(file)] != made["offset_bytes"].to_pylist():
                return None
    except (OSError, pa.ArrowException, CorruptTFRecord):  # the build, or the machine, stopped before the end
        return None
    file_name = staging.records_path(shard_name).relative_to(data.root).as_posix()
    files = pa.array([file_name] * len(made), pa.string())
    made = made.set_column(made.schema.get_field_index(FILE), PREPARED_ROWS.field(FILE), files)
    tables = {"made": made, "rejected": failed}
    places = [(state, name, row) for name, one in tables.items() for row, state in enumerate(one[STATE].to_pylist())]
    return OlderShard(places, tables=lambda: {"made": made}, rejected=lambda: failed)
