"""Finds the corrupt records of a chunk by reading it again outside the graph, whose errors do not name the record."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from shared.dataset import Contract
from shared.errors import UserError
from shared.records import MEL_DTYPES, decode, mel_rows
from shared.storage_path import StoragePath
from shared.tfrecord import CorruptTFRecord, read_framed_record
from shared.vocabulary import NUM_NLLB_IDS
from trainer.data.epoch_order import EpochOrder
from trainer.data.graph import HOST
from trainer.data.position import Position
from trainer.data.record_index import RecordIndex

MAX_CHUNKS_READ_AHEAD = 3  # the chunk in which reading failed, and two that the graph reads ahead


class CorruptRecord(NamedTuple):
    """A record that cannot be trained on."""

    row: int
    shard: StoragePath
    offset_bytes: int
    utterance_id: str
    reason: str

    def __str__(self) -> str:
        return f"{self.shard}: the record of {self.utterance_id} at byte {self.offset_bytes} is corrupt ({self.reason})"


def find_corrupt_records(
    order: EpochOrder, *, position: Position, known: Collection[int], records: RecordIndex, contract: Contract
) -> list[CorruptRecord]:
    """The corrupt records of the first chunk that has any, among the chunk at `position` and the two after it.

    A stream delivers batches up to the chunk that fails, and reads ahead of them.

    Args:
        known: rows that are left out already.

    Raises:
        UserError: a shard cannot be read at all.
    """
    for rows in itertools.islice(_chunks_of_rows(position, order=order), MAX_CHUNKS_READ_AHEAD):
        unchecked = [row for row in dict.fromkeys(rows) if row not in known]
        if found := _corrupt_among(unchecked, records=records, contract=contract):
            return found
    return []


def _chunks_of_rows(position: Position, *, order: EpochOrder) -> Iterator[list[int]]:
    """The rows that are read for the chunk at a position, then the rows of each chunk after it."""
    number = position.chunk
    for epoch_number in itertools.count(position.epoch):
        with tf.device(HOST):
            epoch = order.epoch(tf.constant(epoch_number, tf.int64))
        for chunk in range(number, len(epoch.chunk_starts) - 1):
            with tf.device(HOST):
                yield order.rows_of(order.chunk(epoch, tf.constant(chunk, tf.int64)).blocks).numpy().tolist()
        number = 0


def _corrupt_among(rows: Iterable[int], *, records: RecordIndex, contract: Contract) -> list[CorruptRecord]:
    """The corrupt ones of the rows; raises UserError if a shard cannot be read at all."""
    found = []
    for row in rows:
        shard, offset_bytes = records.files[records.file[row]], int(records.offset_bytes[row])
        try:
            reason = _why_corrupt(row, records=records, contract=contract)
        except OSError as error:
            raise UserError(
                f"{shard}: a shard cannot be read ({error.strerror}); run `make validate DATA={shard.parent.parent}`"
            ) from error
        if reason is not None:
            found.append(CorruptRecord(row, shard, offset_bytes, records.utterance_id[row].as_py(), reason))
    return found


def _why_corrupt(row: int, *, records: RecordIndex, contract: Contract) -> str | None:
    """The reason why a record cannot be read, or differs from the manifest; None for a valid record."""
    with records.files[records.file[row]].open("rb") as file:
        try:
            frame = read_framed_record(file, index=row, offset_bytes=int(records.offset_bytes[row]))
            features = decode(frame.payload) if frame is not None else None
        except CorruptTFRecord as error:
            return error.reason
        except ValueError as error:
            return str(error)
    if features is None:
        return "the file ends before it"
    frames, tokens = int(records.frames[row]), np.array(features.get("tokens", []), np.uint64)
    row_bytes = contract.features.n_mels * MEL_DTYPES[contract.mel_dtype].itemsize
    expected = {
        "utterance_id": [records.utterance_id[row].as_py().encode()],
        "frames": [frames],
    }
    for name, value in expected.items():
        if features.get(name) != value:
            return f"{name} is {_shown(features.get(name))}, the manifest says {_shown(value)}"
    if len(tokens) != records.tokens[row]:
        return f"{len(tokens)} tokens, the manifest says {records.tokens[row]}"
    if (tokens >= NUM_NLLB_IDS).any():
        return f"token {tokens.max()} is none of NLLB's {NUM_NLLB_IDS}"
    sizes = [len(mel) for mel in features.get("mel", []) if isinstance(mel, bytes)]
    expected_bytes = mel_rows(frames, mel_dtype=contract.mel_dtype) * row_bytes
    if sizes != [expected_bytes]:
        return f"a mel of {_shown(sizes)} bytes, expected {expected_bytes} for {frames} frames"
    return None


def _shown(values: list | None) -> str:
    return (
        ", ".join(value.decode(errors="replace") if isinstance(value, bytes) else str(value) for value in values or ())
        or "absent"
    )
