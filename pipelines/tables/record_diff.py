"""Compares the records of an utterance in two datasets field by field; reads only files that differ."""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa

from pipelines.storage.record_reader import decode_mel, read_record
from pipelines.tables.join import Pairs
from pipelines.tables.load import KEPT, STATUSES, status_codes
from shared.dataset import Contract, Dataset
from shared.errors import UserError
from shared.records import ALL_FIELDS, decode
from shared.storage_path import StoragePath
from shared.tfrecord import CorruptTFRecord

OPEN_FILES = 32

RECORD_SCHEMA = {"utterance_id": pa.string(), "fields": pa.list_(pa.string())}
TOKENS_SCHEMA = {
    "utterance_id": pa.string(),
    "tokens_a": pa.int64(),
    "tokens_b": pa.int64(),
    "first_difference": pa.int64(),
}
# differences are null if the mels have different shapes
MEL_SCHEMA = {
    "utterance_id": pa.string(),
    "frames_a": pa.int64(),
    "frames_b": pa.int64(),
    "max_abs": pa.float64(),
    "mean_abs": pa.float64(),
}
DAMAGED_SCHEMA = {"utterance_id": pa.string(), "dataset": pa.string(), "file": pa.string(), "message": pa.string()}


class RecordReader:
    """Random access to the records of one dataset by row."""

    def __init__(self, dataset: Dataset, rows: pa.Table, *, files: contextlib.ExitStack):
        self.contract = dataset.info.contract
        self._layout, self._files = dataset.layout, files
        self._rows, self._statuses = rows, status_codes(rows)
        self._offsets = _numbers(rows, "offset_bytes")
        self._indices = _numbers(rows, "index")
        shards = rows["shard"].combine_chunks().dictionary_encode()
        self._shards, self._shard_names = shards.indices.to_numpy(), shards.dictionary.to_pylist()
        self._sums = {shard.name: (shard.sha256, shard.withheld_sha256) for shard in dataset.info.shards}
        self._open: collections.OrderedDict[StoragePath, BinaryIO] = collections.OrderedDict()

    def content_keys(self, numbers: np.ndarray, *, codes: dict[str, int]) -> np.ndarray:
        """A key for each row, [N], from the sha256 of its file and its index (24 bits) there."""
        table = np.array(
            [[codes.setdefault(one, len(codes)) for one in self._sums[shard_name]] for shard_name in self._shard_names],
            np.int64,
        ).reshape(-1, 2)
        kinds = self._statuses[numbers].astype(np.int64)
        return table[self._shards[numbers], kinds] << 24 | self._indices[numbers]

    def utterance_id(self, row: int) -> str:
        return self._rows["utterance_id"][row].as_py()

    def path(self, row: int) -> StoragePath:
        shard_name = self._shard_names[self._shards[row]]
        is_kept = STATUSES[self._statuses[row]] == KEPT
        return self._layout.shard(shard_name) if is_kept else self._layout.withheld(shard_name)

    def payload(self, row: int) -> bytes:
        """The serialised record of a row, with its checksums verified.

        Raises:
            CorruptTFRecord: the record is damaged.
            UserError: the file cannot be read.
        """
        index, offset = int(self._indices[row]), int(self._offsets[row])
        path = self.path(row)
        try:
            return read_record(self._file(path), index=index, offset_bytes=offset)
        except OSError as error:
            raise UserError(f"{path}: {error.strerror}; run `make validate` for details") from error

    def _file(self, path: StoragePath) -> BinaryIO:
        if path in self._open:
            self._open.move_to_end(path)
        else:
            self._open[path] = self._files.enter_context(path.open("rb"))
            if len(self._open) > OPEN_FILES:
                self._open.popitem(last=False)[1].close()
        return self._open[path]


class RecordChanges(NamedTuple):
    """Differences of records: fields, tokens, mels, and damaged records."""

    record: pa.Table
    tokens: pa.Table
    mel: pa.Table
    damaged: pa.Table


def compare_records(a: Dataset, b: Dataset, *, rows: tuple[pa.Table, pa.Table], pairs: Pairs) -> RecordChanges:
    """Compare the records of pairs that have a record on both sides, two records in memory at a time.

    Raises:
        UserError: a file of records cannot be read.
    """
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in RecordChanges._fields}
    with contextlib.ExitStack() as files:
        one, other = (RecordReader(side, table, files=files) for side, table in zip((a, b), rows, strict=True))
        codes: dict[str, int] = {}
        differ = one.content_keys(pairs.a, codes=codes) != other.content_keys(pairs.b, codes=codes)
        for row_a, row_b in zip(pairs.a[differ].tolist(), pairs.b[differ].tolist(), strict=True):
            for kind, change in _changes(one, row_a, other, row_b):
                found[kind].append({"utterance_id": one.utterance_id(row_a), **change})
    schemas = (RECORD_SCHEMA, TOKENS_SCHEMA, MEL_SCHEMA, DAMAGED_SCHEMA)
    return RecordChanges(
        *(
            pa.Table.from_pylist(found[name], schema=pa.schema(schema))
            for name, schema in zip(RecordChanges._fields, schemas, strict=True)
        )
    )


def _changes(one: RecordReader, row_a: int, other: RecordReader, row_b: int) -> Iterator[tuple[str, dict[str, Any]]]:
    payloads = []
    for name, reader, row in (("A", one, row_a), ("B", other, row_b)):
        try:
            payloads.append(reader.payload(row))
        except CorruptTFRecord as error:
            yield "damaged", {"dataset": name, "file": str(reader.path(row)), "message": str(error)}
    if len(payloads) < 2 or payloads[0] == payloads[1]:
        return
    try:
        before, after = map(decode, payloads)
        changed = [field.name for field in ALL_FIELDS if before.get(field.name) != after.get(field.name)]
        yield "record", {"fields": changed}
        if "tokens" in changed:
            yield "tokens", _tokens(before["tokens"], after["tokens"])
        if "mel" in changed:
            yield "mel", _mel((before, after), contracts=(one.contract, other.contract))
    except (ValueError, KeyError) as error:  # its checksum is valid, but it is not a record
        yield "damaged", {"dataset": "A or B", "file": str(other.path(row_b)), "message": f"no such record: {error}"}


def _tokens(before: list, after: list) -> dict[str, int]:
    same = next(
        (i for i, (x, y) in enumerate(zip(before, after, strict=False)) if x != y), min(len(before), len(after))
    )
    return {"tokens_a": len(before), "tokens_b": len(after), "first_difference": same}


def _mel(features: tuple[dict[str, Any], dict[str, Any]], *, contracts: tuple[Contract, Contract]) -> dict[str, Any]:
    one, other = contracts
    before, after = decode_mel(features[0], contract=one), decode_mel(features[1], contract=other)
    frames = {"frames_a": features[0]["frames"][0], "frames_b": features[1]["frames"][0]}
    if before.shape != after.shape or before.size == 0 or one.stores_mels != other.stores_mels:
        return {**frames, "max_abs": None, "mean_abs": None}
    distance = np.abs(before.astype(np.float64) - after.astype(np.float64))
    return {**frames, "max_abs": float(distance.max()), "mean_abs": float(distance.mean())}


def _numbers(rows: pa.Table, column: str) -> np.ndarray:
    """A numeric column, [N] int64; -1 for rows without a record."""
    return rows[column].combine_chunks().fill_null(-1).to_numpy(zero_copy_only=False)
