"""Reads source recordings again, and repeats the processing from which their mels were computed."""

from __future__ import annotations

import hashlib
import io
import wave
from collections.abc import Mapping
from typing import Any

import numpy as np

from pipelines.config import MAX_DECODE_S
from preprocess.audio import decode_audio, resample, to_pcm
from preprocess.audio_file import read_audio_file
from preprocess.processing import process
from preprocess.utterance import Rejected
from shared.dataset import Contract
from shared.errors import UserError, cwd_hint


def processed_wav(row: Mapping[str, Any], *, contract: Contract) -> bytes:
    """The recording of a row of the manifest as a wav: 16 bits, one channel, resampled and processed.

    Raises:
        UserError: the recording cannot be read.
        ValueError: it is not the one that the dataset was built from.
    """
    path = row["audio_path"]
    try:
        data = read_audio_file(path)
        if hashlib.sha256(data).hexdigest() != row["audio_sha256"]:
            raise ValueError(f"{path}: is not what it was when the dataset was built")
        decoded = decode_audio(data, max_duration_s=MAX_DECODE_S)
    except Rejected as error:
        raise UserError(f"the recording of {row['utterance_id']}: {error.message}{cwd_hint(path)}") from error
    rate_hz = contract.features.sample_rate_hz
    samples = process(resample(decoded, rate_hz=rate_hz), steps=contract.processing).samples
    return pcm_wav(to_pcm(samples), rate_hz=rate_hz)


def pcm_wav(pcm: np.ndarray, *, rate_hz: int) -> bytes:
    """A wav of samples [S] int16."""
    content = io.BytesIO()
    with wave.open(content, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes(pcm.tobytes())
    return content.getvalue()
