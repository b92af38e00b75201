"""The listing of a job's corpora as tables: each corpus is read once, and each worker reads the rows of its shards.

<source>-<split>-<run>.parquet     up to RUN_ROWS rows of one source and split, in the order of their hashes

A shard is an interval of the hash, so its rows lie together in each run; the statistics of the row groups tell where.
"""

from __future__ import annotations

import bisect
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from preprocess.utterance import Reason, Rejection, Utterance
from shared.files import write_bytes
from shared.hashing import KEY_BITS
from shared.layout import ShardName
from shared.storage_path import StoragePath
from shared.tables import parquet_source

Element = Utterance | Rejection

# The driver holds so many rows, or texts of so many characters, before it writes them.
RUN_ROWS, RUN_CHARACTERS = 1 << 18, 1 << 26
GROUP_ROWS = 1 << 10

KEY = "key"
_TEXTS = ("id", "audio_path", "language", "text", "speaker", "custom", "stage", "reason", "message")
_SCHEMA = pa.schema([(KEY, pa.binary(KEY_BITS // 8)), *((name, pa.string()) for name in _TEXTS)])


class Listing:
    """The rows of all sources, in memory and, once they are many, in files of a temporary folder.

    Use it as a context manager; the folder is removed at its end.
    """

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], list[tuple[bytes, Element]]] = {}
        self._count, self._characters, self._runs = 0, 0, 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Listing:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def add(self, element: Element, *, source: str, split: str, order: int) -> None:
        """Add one row of a source; `order` is the `order_hash` of its id."""
        self._rows.setdefault((source, split), []).append((_key(order), element))
        self._count += 1
        self._characters += sum(map(len, _long_texts(element)))
        if self._count >= RUN_ROWS or self._characters >= RUN_CHARACTERS:
            self._write_run()

    def _write_run(self) -> None:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="myxtts-listing-")
        self._write(Path(self._folder.name))

    def _write(self, folder: StoragePath) -> None:
        for (source, split), rows in self._rows.items():
            rows.sort(key=lambda row: row[0])
            sink = pa.BufferOutputStream()
            pq.write_table(_table(rows), sink, compression="zstd", row_group_size=GROUP_ROWS, use_dictionary=False)
            path = folder / f"{source}-{split}-{self._runs:05d}.parquet"
            write_bytes(path, sink.getvalue().to_pybytes(), durable=False)
        self._rows, self._count, self._characters, self._runs = {}, 0, 0, self._runs + 1

    def save(self, folder: StoragePath) -> None:
        """Write all rows into a folder that the workers can read."""
        if self._rows:
            self._write(folder)
        for path in sorted(Path(self._folder.name).iterdir()) if self._folder is not None else ():
            write_bytes(folder / path.name, path.read_bytes(), durable=False)


def _long_texts(element: Element) -> tuple[str, ...]:
    return (element.text, element.custom) if isinstance(element, Utterance) else (element.message,)


def _table(rows: list[tuple[bytes, Element]]) -> pa.Table:
    columns: dict[str, list] = {KEY: [key for key, _ in rows]}
    for name in _TEXTS:
        columns[name] = [getattr(element, name, None) for _, element in rows]
    return pa.table(columns, schema=_SCHEMA)


def read_listed(shard_name: str, *, folder: StoragePath) -> Iterator[Element]:
    """The rows of one shard, in the order of their hashes within each run."""
    shard = ShardName.parse(shard_name)
    first, end = (_first_key(number, shards=shard.shards) for number in (shard.shard, shard.shard + 1))
    for path in sorted(folder.glob(f"{shard.source}-{shard.split}-*.parquet"), key=lambda path: path.name):
        yield from _read_between(path, first=_key(first), last=_key(end - 1))


def _read_between(path: StoragePath, *, first: bytes, last: bytes) -> Iterator[Element]:
    """The rows of one run whose keys lie in this closed interval."""
    with pq.ParquetFile(parquet_source(path)) as file:
        bounds = (file.metadata.row_group(group).column(0).statistics for group in range(file.num_row_groups))
        groups = [group for group, keys in enumerate(bounds) if keys.min <= last and keys.max >= first]
        table = file.read_row_groups(groups)
    keys = table[KEY].to_pylist()
    start, end = bisect.bisect_left(keys, first), bisect.bisect_right(keys, last)
    for row in table.slice(start, end - start).to_pylist():
        yield _element(row)


def _first_key(shard: int, *, shards: int) -> int:
    """The smallest hash that falls into a shard; see `shared.hashing.shard_of_hash`."""
    return -(-(shard << KEY_BITS) // shards)


def _key(number: int) -> bytes:
    return number.to_bytes(KEY_BITS // 8, "big")


def _element(row: dict) -> Element:
    if row["stage"] is None:
        return Utterance(
            id=row["id"],
            audio_path=row["audio_path"],
            text=row["text"],
            language=row["language"],
            speaker=row["speaker"],
            custom=row["custom"],
        )
    return Rejection(
        id=row["id"],
        audio_path=row["audio_path"],
        language=row["language"],
        stage=row["stage"],
        reason=Reason(row["reason"]),
        message=row["message"],
    )
