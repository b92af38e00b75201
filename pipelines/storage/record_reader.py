"""Reads a single record of a dataset from its shard, by the index and byte offset that the manifest names."""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np

from shared.dataset import Contract
from shared.records import MEL_DTYPES, decode
from shared.storage_path import StoragePath
from shared.tfrecord import CorruptTFRecord, read_framed_record


def read_record(file: BinaryIO, *, index: int, offset_bytes: int) -> bytes:
    """The serialised `tf.train.Example` at this place of an open shard, with its checksums verified.

    Raises:
        CorruptTFRecord: the record is damaged, or the file ends before it.
    """
    frame = read_framed_record(file, index=index, offset_bytes=offset_bytes)
    if frame is None:
        raise CorruptTFRecord("the file ends before the record", index=index, offset_bytes=offset_bytes)
    return frame.payload


def read_record_of(path: StoragePath, *, row: dict[str, Any]) -> bytes:
    """The serialised record of a manifest row, from the shard at `path`.

    Raises:
        OSError: the shard cannot be read.
        ValueError: the record is damaged, or belongs to another utterance.
    """
    with path.open("rb") as file:
        payload = read_record(file, index=row["index"], offset_bytes=row["offset_bytes"])
    found = decode(payload).get("utterance_id")
    if found != [row["utterance_id"].encode()]:
        raise ValueError(f"record {row['index']} of {path.name} belongs to another utterance: {found}")
    return payload


def decode_mel(features: dict[str, Any], *, contract: Contract) -> np.ndarray:
    """The mel of a decoded record, [F, M]; its moments, [3, M], if the dataset stores no mels.

    Raises:
        KeyError: the record has no mel.
        ValueError: the number of bytes does not fit the contract's number of mel bands.
    """
    (data,) = features["mel"]
    return np.frombuffer(data, MEL_DTYPES[contract.mel_dtype]).reshape(-1, contract.features.n_mels)
