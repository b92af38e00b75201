"""One utterance on a page: its mel spectrogram as stored in the shard, and its source audio as an audio player."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pipelines.config import MAX_DECODE_S
from pipelines.html.axes import Tick, round_step
from pipelines.html.media import audio_data_uri
from pipelines.storage.record_reader import decode_mel, read_record_of
from preprocess.audio import Signal, decode_audio, resample
from preprocess.audio_file import read_audio_file
from preprocess.mel import log_mel
from preprocess.processing import process
from preprocess.utterance import Rejected
from shared.dataset import Contract
from shared.records import decode
from shared.storage_path import StoragePath


class Clip(NamedTuple):
    """One record with its mel spectrogram and its sound."""

    label: str
    row: dict[str, Any]  # the manifest row
    mel: np.ndarray | None  # [F, M]
    audio: str | None  # data URI
    error: str  # why the mel or the sound is missing; empty if both are there

    @property
    def duration_s(self) -> float:
        return self.row["duration_s"]

    @property
    def text_differs(self) -> bool:
        return self.row["text"] != self.row["original_text"]

    @property
    def ticks(self) -> list[Tick]:
        """Seconds on the time axis, as fractions of its width."""
        step = round_step(self.duration_s, max_steps=5)
        count = int(self.duration_s / step + 1e-9)
        return [Tick(round(i * step / self.duration_s, 4), f"{i * step:g}") for i in range(count + 1)]


class AudioChanged(Exception):
    """The audio file is not the file that the record was made from."""


def make_clip(row: dict[str, Any], *, path: StoragePath, label: str, contract: Contract) -> Clip:
    """Read the mel of a record and the source audio; what cannot be read is reported in `Clip.error`.

    If the dataset stores no mels, the mel is computed from the source audio.

    Args:
        row: the manifest row of the record.
        path: the TFRecord file that holds the record.
    """
    errors, mel, audio = [], None, None
    try:
        mel = read_mel(path, row=row, contract=contract) if contract.stores_mels else None
    except (OSError, ValueError, KeyError) as error:
        errors.append(f"The record cannot be read: {error}.")
    try:
        original = read_source_audio(row, contract=contract)
        audio = audio_data_uri(original)
        mel = mel if contract.stores_mels else log_mel(original.samples, spec=contract.features)
    except (OSError, Rejected, AudioChanged) as error:
        errors.append(f"No sound: {error}.")
    return Clip(label, row, mel, audio, " ".join(errors))


def read_mel(path: StoragePath, *, row: dict[str, Any], contract: Contract) -> np.ndarray:
    """Read the mel [F, M] of a record at the position that its manifest row gives.

    Raises:
        ValueError, KeyError: there is no valid record of this utterance at that position.
    """
    return decode_mel(decode(read_record_of(path, row=row)), contract=contract)


def read_source_audio(row: dict[str, Any], *, contract: Contract) -> Signal:
    """Decode, resample and process the audio file of a manifest row, as the build did before it computed the mel.

    Raises:
        Rejected: the audio file is missing or cannot be decoded.
        AudioChanged: the audio file has another sha256 than the manifest says.
    """
    data = read_audio_file(row["audio_path"])
    if hashlib.sha256(data).hexdigest() != row["audio_sha256"]:
        raise AudioChanged(f"{row['audio_path']} has changed since the build (sha256)")
    decoded = decode_audio(data, max_duration_s=MAX_DECODE_S)
    return process(resample(decoded, rate_hz=contract.features.sample_rate_hz), steps=contract.processing)


def magnitude_range(clips: Sequence[Clip]) -> tuple[float, float]:
    """The ln magnitudes drawn darkest and brightest, common to all mels of a page."""
    values = [clip.mel.astype(np.float32).ravel() for clip in clips if clip.mel is not None]
    low, high = np.percentile(np.concatenate(values), (2, 99.9)) if values else (0.0, 1.0)
    return float(low), max(float(high), float(low) + 1e-3)
