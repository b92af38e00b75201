"""Reads the samples of whole clips: out of the records of a dataset that stores them, or out of its recordings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Protocol

import numpy as np
import tensorflow as tf

from shared.dataset import Dataset
from shared.errors import UserError
from shared.records import WAVEFORM, WAVEFORM_DTYPES
from trainer.data.graph import HOST
from trainer.data.online_mel import recording_error
from trainer.data.reader import BUFFER_BYTES
from trainer.data.record_index import RecordIndex
from trainer.data.wav_decoder import Pcm, check_files, read_pcm
from trainer.platform.tf_errors import first_line


class Waveforms(Protocol):
    """The samples of the clips of a split."""

    def read(self, rows: tf.Tensor) -> Pcm:
        """Read the samples of the clips in rows [B] int32 of the record index; for graphs, too.

        Raises when run:
            tf.errors.OpError: a clip cannot be read, or is not the one of the manifest; `error_message` says why.
        """

    def error_message(self, error: tf.errors.OpError) -> str | None:
        """The message of an error of `read`, in one line; None for other errors."""


def open_waveforms(dataset: Dataset, *, records: RecordIndex) -> Waveforms:
    """The waveforms of a split whose records are `records`.

    Raises:
        UserError: the dataset stores mels alone.
    """
    contract = dataset.info.contract
    if contract.stores_waveforms:
        return StoredWaveforms(dataset, records=records)
    if contract.stores_mels:
        raise UserError(
            f"{dataset.layout.root}: stores mels and no waveforms; a vocoder is trained on waveforms, so build the "
            "dataset with waveform_dtype=int16"
        )
    return Recordings(records, rate_hz=contract.features.sample_rate_hz)


class StoredWaveforms:
    """The waveforms in the records of the shards."""

    def __init__(self, dataset: Dataset, *, records: RecordIndex):
        self._root, contract = dataset.layout.root, dataset.info.contract
        samples = np.rint(records.duration_s * contract.features.sample_rate_hz)
        sample_bytes = WAVEFORM_DTYPES[contract.waveform_dtype].itemsize
        names = [f"the record of {name}" for name in records.utterance_id.to_pylist()]
        with tf.device(HOST):
            self._files = tf.constant([str(file) for file in records.files], tf.string)
            self._file = tf.constant(records.file, tf.int32)
            self._offset_bytes = tf.constant(records.offset_bytes, tf.int64)
            self._ids = tf.constant(records.utterance_id.to_pylist(), tf.string)
            self._names = tf.constant(names, tf.string)
            self._num_bytes = tf.constant(samples * sample_bytes, tf.int32)

    def read(self, rows: tf.Tensor) -> Pcm:
        """Read the records of rows [B] int32, each by itself, and return their waveforms."""
        with tf.device(HOST):
            raw = tf.map_fn(self._read_record, rows, fn_output_signature=tf.string)
            parsed = tf.io.parse_example(raw, {"utterance_id": _BYTES, WAVEFORM.name: _BYTES})
            length, expected = tf.strings.length(parsed[WAVEFORM.name]), tf.gather(self._num_bytes, rows)
            conditions = [
                (parsed["utterance_id"] == tf.gather(self._ids, rows), "is that of another utterance"),
                (length == expected, "has a waveform of another length than the manifest says"),
            ]
            with tf.control_dependencies([check_files(tf.gather(self._names, rows), conditions)]):
                return Pcm(tf.identity(parsed[WAVEFORM.name]), tf.ones_like(rows))

    def _read_record(self, row: tf.Tensor) -> tf.Tensor:
        """The serialised record [] string of a row [] int32; its checksums are verified."""
        records = tf.raw_ops.TFRecordDatasetV2(
            filenames=tf.gather(self._files, tf.gather(self._file, row))[None],
            compression_type="",
            buffer_size=tf.constant(BUFFER_BYTES, tf.int64),
            byte_offsets=tf.gather(self._offset_bytes, row)[None],
        )
        return tf.data.experimental.from_variant(records, tf.TensorSpec([], tf.string)).take(1).get_single_element()

    def error_message(self, error: tf.errors.OpError) -> str | None:
        """Say what is wrong with a record, if the error comes from reading one."""
        if found := _RECORD_ERROR.search(error.message):
            reason = found[1]
        elif isinstance(error, _READING_ERRORS) or _SHARD_ENDS in error.message:
            reason = first_line(error).rpartition(": ")[2]  # after where in the graph
        else:
            return None
        return f"{self._root}: a record cannot be read ({reason}); run `make validate DATA={self._root}`"


_BYTES = tf.io.FixedLenFeature([], tf.string, b"")
_RECORD_ERROR = re.compile(r"(?:assertion failed: \[|data: b')(the record of .*?)[;'\]]")  # in a graph, and outside
_SHARD_ENDS = "Dataset was empty"  # what is read of it is a data set of one record
_READING_ERRORS = (
    tf.errors.DataLossError,  # checksums
    tf.errors.NotFoundError,
    tf.errors.PermissionDeniedError,
)


class Recordings:
    """The recordings that a dataset without mels was built from: 16-bit wavs at the rate of the mels."""

    def __init__(self, records: RecordIndex, *, rate_hz: int):
        self._records, self._rate_hz = records, rate_hz
        paths, ids = records.audio_path.to_pylist(), records.utterance_id.to_pylist()
        self._paths = tf.constant(paths, tf.string)
        self._names = tf.constant(
            [f"{Path(path).absolute()}: the recording of {name}" for path, name in zip(paths, ids, strict=True)],
            tf.string,
        )
        self._num_samples = tf.constant(np.rint(records.duration_s * rate_hz), tf.int32)

    def read(self, rows: tf.Tensor) -> Pcm:
        """Read the wavs of rows [B] int32."""
        return read_pcm(
            tf.map_fn(tf.io.read_file, tf.gather(self._paths, rows)),
            rate_hz=self._rate_hz,
            num_samples=tf.gather(self._num_samples, rows),
            names=tf.gather(self._names, rows),
        )

    def error_message(self, error: tf.errors.OpError) -> str | None:
        """Name the recording that an error concerns, and say what helps."""
        if (message := recording_error(error, records=self._records)) is None:
            return None
        return f"{message}; put the file back that the dataset was built from, or build it again"
