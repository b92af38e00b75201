"""The rows of a shard that is being prepared: new ones, and rows taken over from older shards."""

from __future__ import annotations

from typing import Any, BinaryIO

import pyarrow as pa

from pipelines.build.older_shards import OlderRow
from pipelines.build.staging import FILE, PREPARED_ROWS, STAGED
from shared.records import Record, encode
from shared.tfrecord import frame_record


class PreparedRows:
    """Collects the rows in the order of the shard; new records go into a file."""

    def __init__(self, file: BinaryIO):
        self._file = file
        self._made: list[dict[str, Any]] = []
        self._tables: dict[int, pa.Table] = {}  # by id(): a shard takes rows from few tables
        self._order: list[tuple[int | None, int]] = []  # (id of a table, or None for a made row; number of the row)

    def add_prepared(self, row: dict[str, Any], *, record: Record) -> None:
        """Add a new record and its row."""
        offset, framed = self._file.tell(), frame_record(encode(record))
        self._file.write(framed)
        self._add_made(row | {"offset_bytes": offset, "length_bytes": len(framed), FILE: STAGED})

    def add_older(self, row: OlderRow | dict[str, Any]) -> None:
        """Add a row of an older shard; its record stays in the file that the row names."""
        if isinstance(row, dict):
            self._add_made(row)
        else:
            self._tables[id(row.table)] = row.table
            self._order.append((id(row.table), row.row))

    def _add_made(self, row: dict[str, Any]) -> None:
        self._order.append((None, len(self._made)))
        self._made.append(row)

    def table(self) -> pa.Table:
        """All rows, in the order in which they were added."""
        made = pa.Table.from_pylist(self._made, schema=PREPARED_ROWS)
        starts: dict[int | None, int] = {None: 0}
        start = len(made)
        for key, table in self._tables.items():
            starts[key], start = start, start + len(table)
        rows = [starts[key] + row for key, row in self._order]
        return pa.concat_tables([made, *self._tables.values()]).take(pa.array(rows, pa.int64()))
