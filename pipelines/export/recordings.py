"""The samples from which mels were computed: stored ones, or those of the recordings, processed once more."""

from __future__ import annotations

import hashlib
import io
import wave
from collections.abc import Mapping
from typing import Any

import numpy as np

from pipelines.config import MAX_DECODE_S
from pipelines.tables.load import KEPT
from pipelines.trace.lookup import rows_with_id
from preprocess.audio import decode_audio, resample, to_pcm
from preprocess.audio_file import read_audio_file
from preprocess.processing import process
from preprocess.utterance import Rejected
from shared.dataset import Contract, Dataset
from shared.errors import UserError, cwd_hint
from shared.records import Record


def read_waveform(dataset: Dataset, utterance_id: str) -> np.ndarray:
    """The samples of an utterance that a dataset holds, [S] int16 at the rate of its mels, resampled and processed.

    Raises:
        UserError: no record has this id, or the recording cannot be read.
        ValueError: the record is damaged, or the recording is not the one that the dataset was built from.
    """
    record = dataset.record(utterance_id)
    (row,) = (row for row in rows_with_id(dataset, utterance_id) if row["status"] == KEPT)
    return waveform_of(record, row=row, contract=dataset.info.contract)


def waveform_of(record: Record, *, row: Mapping[str, Any], contract: Contract) -> np.ndarray:
    """The samples of a record and its row of the manifest, [S] int16, resampled and processed.

    Raises:
        UserError: the recording cannot be read.
        ValueError: it is not the one that the dataset was built from.
    """
    if record.waveform is not None:
        return record.waveform
    path = row["audio_path"]
    try:
        data = read_audio_file(path)
        if hashlib.sha256(data).hexdigest() != row["audio_sha256"]:
            raise ValueError(f"{path}: is not what it was when the dataset was built")
        decoded = decode_audio(data, max_duration_s=MAX_DECODE_S)
    except Rejected as error:
        raise UserError(f"the recording of {row['utterance_id']}: {error.message}{cwd_hint(path)}") from error
    rate_hz = contract.features.sample_rate_hz
    return to_pcm(process(resample(decoded, rate_hz=rate_hz), steps=contract.processing).samples)


def pcm_wav(pcm: np.ndarray, *, rate_hz: int) -> bytes:
    """A wav of samples [S] int16."""
    content = io.BytesIO()
    with wave.open(content, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes(pcm.tobytes())
    return content.getvalue()
