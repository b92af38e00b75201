"""Reads the samples of whole clips: out of the records of a dataset that stores them, or out of its recordings."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import numpy as np
import tensorflow as tf

from shared.dataset import Dataset
from shared.errors import UserError
from shared.records import WAVEFORM, WAVEFORM_DTYPES
from trainer.data.online_mel import recording_error
from trainer.data.reader import BUFFER_BYTES
from trainer.data.record_index import RecordIndex
from trainer.data.wav_decoder import Pcm, check_files, read_pcm


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
        self._root = dataset.layout.root
        rate_hz, dtype = dataset.info.contract.features.sample_rate_hz, dataset.info.contract.waveform_dtype
        self._files = tf.constant([str(file) for file in records.files], tf.string)
        self._file = tf.constant(records.file, tf.int32)
        self._offset_bytes = tf.constant(records.offset_bytes, tf.int64)
        self._ids = tf.constant(records.utterance_id.to_pylist(), tf.string)
        samples = np.rint(records.duration_s * rate_hz)
        self._num_bytes = tf.constant(samples * WAVEFORM_DTYPES[dtype].itemsize, tf.int32)

    def read(self, rows: tf.Tensor) -> Pcm:
        """Read the records of rows [B] int32, each by itself, and return their waveforms."""
        raw = tf.map_fn(self._read_record, rows, fn_output_signature=tf.string)
        names, features = tf.gather(self._ids, rows), {"utterance_id": _BYTES, WAVEFORM.name: _BYTES}
        parsed = tf.io.parse_example(raw, features)
        conditions = [
            (parsed["utterance_id"] == names, "is not the record of the manifest"),
            (
                tf.strings.length(parsed[WAVEFORM.name]) == tf.gather(self._num_bytes, rows),
                "has a waveform of another length than the manifest says",
            ),
        ]
        with tf.control_dependencies([check_files(names, conditions)]):
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
        """Say that the shards are damaged, if the error may come from reading them."""
        if not isinstance(error, _READING_ERRORS):
            return None
        reason = error.message.splitlines()[0].removeprefix("assertion failed: ").strip("[]")
        return f"{self._root}: a record cannot be read ({reason}); run `make validate DATA={self._root}`"


_BYTES = tf.io.FixedLenFeature([], tf.string, b"")
_READING_ERRORS = (
    tf.errors.DataLossError,  # checksums
    tf.errors.InvalidArgumentError,  # a file that ends before the record, and what is asserted above
    tf.errors.NotFoundError,
    tf.errors.OutOfRangeError,
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
