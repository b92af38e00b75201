"""Copying of prepared records, as bytes, into the files of a new shard."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable
from typing import BinaryIO, NamedTuple

import pyarrow as pa

from pipelines.build.older_shards import records_file
from pipelines.build.staging import FILE, STAGED, Staging
from shared.errors import UserError
from shared.files import fsync_path, link_file, new_file
from shared.layout import Layout
from shared.storage_path import StoragePath
from shared.tfrecord import CorruptTFRecord, check_framed


class StoredRecord(NamedTuple):
    """Where a prepared record lies; the file as in the column FILE."""

    file: str
    offset_bytes: int
    length_bytes: int


class RecordsFile(NamedTuple):
    """A file of a shard's records: its sha256, and the place of each record in it."""

    sha256: str
    offsets_bytes: list[int]


def stored_records(rows: pa.Table) -> list[StoredRecord]:
    """The places of the records of prepared rows."""
    columns = (rows[name].to_pylist() for name in (FILE, "offset_bytes", "length_bytes"))
    return [StoredRecord(*place) for place in zip(*columns, strict=True)]


def write_records(
    records: list[StoredRecord],
    *,
    shard_name: str,
    folder: str,
    data: Layout,
    staging: Staging,
    on_record: Callable[[StoredRecord, bytes], None],
) -> RecordsFile:
    """Write records into one file of `folder`, unless an existing file holds exactly these records.

    Args:
        folder: `shards` or `withheld`.
        on_record: called with each record's place and its framed bytes.

    Raises:
        UserError: a record of the published dataset is damaged.
    """
    target = {"shards": staging.layout.shard, "withheld": staging.layout.withheld}[folder](shard_name)
    complete = _complete_file(records, folder=folder, shard_name=shard_name, data=data, staging=staging)
    digest, offsets, end = hashlib.sha256(), [], 0
    with contextlib.ExitStack() as files:
        sources = files.enter_context(RecordSources(shard_name, data=data, staging=staging))
        sink = None if complete else files.enter_context(new_file(target))
        for record in records:
            framed = sources.read(record)
            digest.update(framed)
            on_record(record, framed)
            if sink is not None:
                sink.write(framed)
            offsets.append(end)
            end += len(framed)
    if complete == STAGED:
        fsync_path(staging.records_path(shard_name))
        link_file(staging.records_path(shard_name), target)
    return RecordsFile(digest.hexdigest(), offsets)


def _complete_file(
    records: list[StoredRecord], *, folder: str, shard_name: str, data: Layout, staging: Staging
) -> str | None:
    """The file that holds exactly these records, as in the column FILE; None if there is none."""
    published = records_file(shard_name, folder=folder)
    expected_bytes = sum(record.length_bytes for record in records)
    for kind, path in ((STAGED, staging.records_path(shard_name)), (published, data.root / published)):
        if all(record.file == kind for record in records) and _has_size(path, size_bytes=expected_bytes):
            return kind
    return None


def _has_size(path: StoragePath, *, size_bytes: int) -> bool:
    """Whether a file exists, can be opened, and has this size; an empty file is opened too."""
    try:
        with path.open("rb") as file:
            return file.seek(0, os.SEEK_END) == size_bytes
    except OSError:
        return False


class RecordSources:
    """The files that hold a shard's prepared records, each opened once; a context manager, which closes them."""

    def __init__(self, shard_name: str, *, data: Layout, staging: Staging):
        self._staged, self._root = staging.records_path(shard_name), data.root
        self._files, self._open = contextlib.ExitStack(), dict[str, BinaryIO]()

    def __enter__(self) -> RecordSources:
        return self

    def __exit__(self, *exception: object) -> None:
        self._files.close()

    def read(self, record: StoredRecord) -> bytes:
        """The framed record; one of the published dataset is checked."""
        name = record.file
        path = self._staged if name == STAGED else self._root / name
        if name not in self._open:
            self._open[name] = self._files.enter_context(path.open("rb"))
        self._open[name].seek(record.offset_bytes)
        framed = self._open[name].read(record.length_bytes)
        if name != STAGED:
            self._check(framed, path=path, offset_bytes=record.offset_bytes)
        return framed

    def _check(self, framed: bytes, *, path: StoragePath, offset_bytes: int) -> None:
        try:
            check_framed(framed, offset_bytes=offset_bytes)
        except CorruptTFRecord as error:
            message = f"{path}: the record at byte {offset_bytes}: {error.reason}; nothing was published"
            raise UserError(f"{message}; run `make repair DATA={self._root}`, then build again") from error
