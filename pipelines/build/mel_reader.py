"""Reads the mels of prepared records, while a build is under way."""

from __future__ import annotations

import functools
import hashlib

import numpy as np

from pipelines.build.shard_records import RecordSources, StoredRecord, stored_records
from pipelines.build.staging import FILE, Staging
from pipelines.config import BuildConfig
from preprocess.audio import decode_audio, resample
from preprocess.audio_file import read_audio_file
from preprocess.mel import log_mel
from preprocess.utterance import Rejected
from shared.layout import Layout
from shared.records import MEL_DTYPES, NO_MEL, encoded_features, feature_values
from shared.tfrecord import unframe

# Candidates lie close together, and one recording is compared with several.
HELD_MELS, HELD_SHARDS = 64, 16


class MelReader:
    """The mels of prepared records, by shard and row."""

    def __init__(self, config: BuildConfig, *, data: Layout, staging: Staging):
        self._config, self._data, self._staging = config, data, staging
        self.spec = config.feature_spec
        self.mel = functools.lru_cache(HELD_MELS)(self._mel)
        self._shard = functools.lru_cache(HELD_SHARDS)(self._read_shard)

    def _mel(self, shard_name: str, row: int) -> np.ndarray | None:
        """The mel, [F, M] ln magnitudes; None if the dataset stores none and its recording is gone or another one."""
        records, recordings = self._shard(shard_name)
        if self._config.mel_dtype == NO_MEL:
            return self._mel_of_recording(*recordings[row])
        with RecordSources(shard_name, data=self._data, staging=self._staging) as sources:
            payload = unframe(sources.read(records[row]))
        (data,) = feature_values(encoded_features(payload)["mel"])
        assert isinstance(data, bytes)
        return np.frombuffer(data, MEL_DTYPES[self._config.mel_dtype]).reshape(-1, self.spec.n_mels)

    def _mel_of_recording(self, path: str, sha256: str) -> np.ndarray | None:
        try:
            data = read_audio_file(path)
            if hashlib.sha256(data).hexdigest() != sha256:  # replaced since it was prepared
                return None
            decoded = decode_audio(data, max_duration_s=self._config.decode_limit_s)
        except Rejected:
            return None
        except OSError as error:  # of a read, which does not know the file's name
            raise OSError(error.errno, error.strerror, path) from error
        return log_mel(resample(decoded, rate_hz=self.spec.sample_rate_hz).samples, spec=self.spec)

    def _read_shard(self, shard_name: str) -> tuple[list[StoredRecord], list[tuple[str, str]]]:
        """The records of a shard, and the path and sha256 of each recording."""
        columns = [FILE, "offset_bytes", "length_bytes", "audio_path", "audio_sha256"]
        rows = self._staging.read_rows(shard_name, columns=columns)
        recordings = zip(rows["audio_path"].to_pylist(), rows["audio_sha256"].to_pylist(), strict=True)
        return stored_records(rows), list(recordings)
