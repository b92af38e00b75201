"""What a build leaves in `DATA/build_cache` for the next one, which then pays only for what is new.

DATA/build_cache/<shard>-<hash of what dataset.json states about the shard>.parquet
    a row per utterance of the shard's tables:
        state       its input state when it was prepared, 16 bytes
        table       the table that holds its row: shards, withheld or rejected
        row         the number of that row
    metadata:
        report      the shard's report, as JSON
        preparation the preparation fingerprint
        files       size, modification time and inode of the shard's files at their publication; empty until then

DATA/build_cache/no_copies.parquet: pairs of recordings that need not be compared again, see `no_copies.py`

The name of a shard's cache belongs to one version of the shard: the files of a new dataset are added before its
publication, and those of the older one are removed after it. The folder is not part of the dataset. Without it, the
next build prepares every utterance again.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pydantic

from pipelines.build.no_copies import no_copies_path
from pipelines.build.shard_report import ShardReport
from pipelines.storage.file_states import state_of
from shared.dataset import ShardInfo
from shared.layout import SHARD_NAME, Layout
from shared.storage_path import StoragePath
from shared.tables import read_table, write_table

CACHED_ROWS = pa.schema(
    [
        pa.field("state", pa.binary(), nullable=False),
        pa.field("table", pa.string(), nullable=False),
        pa.field("row", pa.int64(), nullable=False),
    ]
)
_NAME = re.compile(rf"(?:{SHARD_NAME.pattern})-[0-9a-f]{{16}}\.parquet")
_REPORT, _PREPARATION, _FILES = b"report", b"preparation", b"files"


class CachedShard(NamedTuple):
    """The cached facts of one published shard."""

    rows: pa.Table  # of CACHED_ROWS
    report: ShardReport
    preparation: str
    files: str

    def states(self, table: str, rows: int) -> list[bytes]:
        """The input states of one table's rows; empty where a state is not known."""
        of_table = self.rows.filter(pc.equal(self.rows["table"], table))
        states = [b""] * rows
        for row, state in zip(of_table["row"].to_pylist(), of_table["state"].to_pylist(), strict=True):
            if row < rows:
                states[row] = state
        return states

    def has_intact_files(self, *, data: Layout) -> bool:
        """Whether the shard's files are those of the publication, by their size, modification time and inode."""
        return self.files == state_of(data.shard_files(self.report.info.name))


def cached_rows(states: Iterable[tuple[str, Sequence[bytes]]]) -> pa.Table:
    """The cache's rows from the input states of each table's rows, in their order; an unknown state is left out."""
    entries = [(state, table, row) for table, of_rows in states for row, state in enumerate(of_rows) if state]
    columns = zip(*entries, strict=True) if entries else ((), (), ())
    return pa.table(dict(zip(CACHED_ROWS.names, map(list, columns), strict=True)), schema=CACHED_ROWS)


def write_cached_shard(path: StoragePath, cached: CachedShard) -> None:
    """Write the cache of one shard."""
    metadata = {
        _REPORT: cached.report.model_dump_json(),
        _PREPARATION: cached.preparation,
        _FILES: cached.files,
    }
    write_table(path, cached.rows.replace_schema_metadata(metadata), durable=False)


def read_cached_shard(path: StoragePath) -> CachedShard | None:
    """Read the cache of one shard; None if it is absent, damaged or of another version."""
    with contextlib.suppress(OSError, pa.ArrowException, KeyError, ValueError, pydantic.ValidationError):
        table = read_table(path)
        metadata = table.schema.metadata or {}
        if table.schema.equals(CACHED_ROWS):
            return CachedShard(
                rows=table.replace_schema_metadata(None),
                report=ShardReport.model_validate_json(metadata[_REPORT]),
                preparation=metadata[_PREPARATION].decode(),
                files=metadata[_FILES].decode(),
            )
    return None


def cache_path(info: ShardInfo, *, data: Layout) -> StoragePath:
    """The path of the cache of one version of a shard."""
    key = hashlib.blake2b(info.model_dump_json().encode(), digest_size=8).hexdigest()
    return data.build_cache / f"{info.name}-{key}.parquet"


def read_cache_of(info: ShardInfo, *, data: Layout) -> CachedShard | None:
    """The cache of a published shard; None if it is absent, damaged, or not of this version of the shard."""
    cached = read_cached_shard(cache_path(info, data=data))
    return cached if cached is not None and cached.report.info == info else None


def add_to_cache(infos: Iterable[ShardInfo], *, staged: Layout, data: Layout) -> None:
    """Move the staged caches to the dataset, before the shards are published.

    Raises:
        OSError: the disk failed.
    """
    data.build_cache.mkdir(exist_ok=True)
    for info in infos:
        made = cache_path(info, data=staged)
        if made.is_file() and read_cache_of(info, data=data) is None:
            made.replace(cache_path(info, data=data))
    if no_copies_path(staged).is_file():
        no_copies_path(staged).replace(no_copies_path(data))


def stamp_cache(infos: Iterable[ShardInfo], *, data: Layout) -> None:
    """Note the state of the published files in their caches, and remove the caches of all other shards.

    Raises:
        OSError: the disk failed.
    """
    current = set()
    for info in infos:
        path = cache_path(info, data=data)
        current.add(path.name)
        files = state_of(data.shard_files(info.name))
        if (cached := read_cache_of(info, data=data)) is not None and cached.files != files:
            write_cached_shard(path, cached._replace(files=files))
    for path in list(data.build_cache.iterdir()):
        if _NAME.fullmatch(path.name) and path.name not in current:
            path.unlink(missing_ok=True)
