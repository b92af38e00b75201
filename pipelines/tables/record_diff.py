"""The records of one utterance in two datasets, field by field; only where their files differ is anything read."""

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
from shared.records import FIELDS, decode
from shared.storage_path import StoragePath
from shared.tfrecord import CorruptTFRecord

OPEN_FILES = 32

RECORD = {"utterance_id": pa.string(), "fields": pa.list_(pa.string())}
TOKENS = {
    "utterance_id": pa.string(),
    "tokens_a": pa.int64(),
    "tokens_b": pa.int64(),
    "first_difference": pa.int64(),
}
# the differences are null where the mels have not one shape
MEL = {
    "utterance_id": pa.string(),
    "frames_a": pa.int64(),
    "frames_b": pa.int64(),
    "max_abs": pa.float64(),
    "mean_abs": pa.float64(),
}
DAMAGED = {"utterance_id": pa.string(), "dataset": pa.string(), "file": pa.string(), "message": pa.string()}


class RecordReader:
    """Where the records of one dataset stand."""

    def __init__(self, dataset: Dataset, rows: pa.Table, *, files: contextlib.ExitStack):
        self.contract = dataset.info.contract
        self._layout, self._files = dataset.layout, files
        self._rows, self._statuses = rows, status_codes(rows)
        self._offsets = _numbers(rows, "offset_bytes")
        self._indices = _numbers(rows, "index")
        shards = rows["shard"].combine_chunks().dictionary_encode()
        self._shards, self._stems = shards.indices.to_numpy(), shards.dictionary.to_pylist()
        self._sums = {shard.name: (shard.sha256, shard.withheld_sha256) for shard in dataset.info.shards}
        self._open: collections.OrderedDict[StoragePath, BinaryIO] = collections.OrderedDict()

    def identities(self, numbers: np.ndarray, *, codes: dict[str, int]) -> np.ndarray:
        """A number for each row that tells the content of the file and the place in it, [N]; 24 bits for the place."""
        table = np.array(
            [[codes.setdefault(one, len(codes)) for one in self._sums[stem]] for stem in self._stems], np.int64
        ).reshape(-1, 2)
        kinds = self._statuses[numbers].astype(np.int64)
        return table[self._shards[numbers], kinds] << 24 | self._indices[numbers]

    def utterance_id(self, row: int) -> str:
        return self._rows["utterance_id"][row].as_py()

    def path(self, row: int) -> StoragePath:
        stem = self._stems[self._shards[row]]
        is_kept = STATUSES[self._statuses[row]] == KEPT
        return self._layout.shard(stem) if is_kept else self._layout.withheld(stem)

    def payload(self, row: int) -> bytes:
        """The record of a row, checked.

        Raises:
            CorruptTFRecord: it is damaged.
            UserError: its file cannot be read.
        """
        index, offset = int(self._indices[row]), int(self._offsets[row])
        path = self.path(row)
        try:
            return read_record(self._file(path), index=index, offset_bytes=offset)
        except OSError as error:
            raise UserError(f"{path}: {error.strerror}; `make validate` says more") from error

    def _file(self, path: StoragePath) -> BinaryIO:
        if path in self._open:
            self._open.move_to_end(path)
        else:
            self._open[path] = self._files.enter_context(path.open("rb"))
            if len(self._open) > OPEN_FILES:
                self._open.popitem(last=False)[1].close()
        return self._open[path]


class RecordChanges(NamedTuple):
    """What differs in the records: which fields, and by how much."""

    record: pa.Table
    tokens: pa.Table
    mel: pa.Table
    damaged: pa.Table


def compare_records(a: Dataset, b: Dataset, *, rows: tuple[pa.Table, pa.Table], pairs: Pairs) -> RecordChanges:
    """Compare the records of pairs that have one on both sides. Two records are in memory at a time.

    Raises:
        UserError: a file of records cannot be read.
    """
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in RecordChanges._fields}
    with contextlib.ExitStack() as files:
        one, other = (RecordReader(side, table, files=files) for side, table in zip((a, b), rows, strict=True))
        codes: dict[str, int] = {}
        differ = one.identities(pairs.a, codes=codes) != other.identities(pairs.b, codes=codes)
        for row_a, row_b in zip(pairs.a[differ].tolist(), pairs.b[differ].tolist(), strict=True):
            for kind, change in _changes(one, row_a, other, row_b):
                found[kind].append({"utterance_id": one.utterance_id(row_a), **change})
    schemas = (RECORD, TOKENS, MEL, DAMAGED)
    return RecordChanges(
        *(
            pa.Table.from_pylist(found[name], schema=pa.schema(schema))
            for name, schema in zip(RecordChanges._fields, schemas, strict=True)
        )
    )


def _changes(one: RecordReader, row_a: int, other: RecordReader, row_b: int) -> Iterator[tuple[str, dict[str, Any]]]:
    payloads = []
    for name, places, row in (("A", one, row_a), ("B", other, row_b)):
        try:
            payloads.append(places.payload(row))
        except CorruptTFRecord as error:
            yield "damaged", {"dataset": name, "file": str(places.path(row)), "message": str(error)}
    if len(payloads) < 2 or payloads[0] == payloads[1]:
        return
    try:
        before, after = map(decode, payloads)
        changed = [field.name for field in FIELDS if before.get(field.name) != after.get(field.name)]
        yield "record", {"fields": changed}
        if "tokens" in changed:
            yield "tokens", _tokens(before["tokens"], after["tokens"])
        if "mel" in changed:
            yield "mel", _mel((before, after), contracts=(one.contract, other.contract))
    except (ValueError, KeyError) as error:  # whole by its checksum, and yet no record
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
    """[N] int64; -1 where a row has no record."""
    return rows[column].combine_chunks().fill_null(-1).to_numpy(zero_copy_only=False)
