"""Voices: the mels of reference clips, which the model's reference encoder hears; saved as safetensors.

A voice holds mels and not the encoder's output, so that it serves every checkpoint of every run that was trained on
mels like these.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pydantic

from preprocess.audio import resample
from preprocess.mel import log_mel
from preprocess.processing import process
from preprocess.utterance import Rejected
from shared.dataset import Contract, contract_differences
from shared.errors import UserError
from trainer.config.speech_bounds import MAX_REFERENCE_S
from trainer.platform.safetensors_file import read_tensors, write_tensors
from trainer.speech.reference import Reference

FORMAT = "myxtts-voice-1"
MAX_FILE_BYTES = 64 << 20  # of a saved voice; MAX_REFERENCE_S of 128 bands at 100 frames per second are 31 MB
MEL_FIELDS = ("features", "processing")  # the fields of a contract that determine a mel


@dataclasses.dataclass(frozen=True, eq=False)
class Voice:
    """A voice, as the mels of its clips."""

    name: str
    mels: tuple[np.ndarray, ...]  # [F, M] float32 in ln magnitude each
    contract: Contract  # of the datasets whose mels are like these

    @property
    def duration_s(self) -> float:
        return sum(map(len, self.mels)) / self.contract.features.frames_per_second

    def check(self, contract: Contract, *, run: Path) -> None:
        """Raises UserError if a run was trained on mels of another kind."""
        if fields := mel_differences(self.contract, trained=contract):
            raise UserError(
                f"voice {self.name}: made for other mels than those that {run} was trained on: {'; '.join(fields)}; "
                "save the voice again, from its clips"
            )


def mel_differences(contract: Contract, *, trained: Contract) -> list[str]:
    """The fields in which the mels of a contract differ from those that a run was trained on, with both values."""
    return [
        f"{key} is {own}, the run has {its}"
        for key, (own, its) in contract_differences(contract, trained).items()
        if key.partition(".")[0] in MEL_FIELDS
    ]


class _Metadata(pydantic.BaseModel):
    """The metadata of a saved voice."""

    model_config = pydantic.ConfigDict(extra="forbid")

    format: str
    name: str = pydantic.Field(min_length=1)
    contract: pydantic.Json[Contract]


def make_voice(references: Sequence[Reference], *, contract: Contract, name: str) -> Voice:
    """The voice of one or several clips of a speaker.

    Raises:
        UserError: a clip has no usable sound, or the clips are longer than MAX_REFERENCE_S together.
    """
    seconds = sum(one.signal.duration_s for one in references)
    if seconds > MAX_REFERENCE_S:
        raise UserError(f"voice {name}: {seconds:.0f} s of clips, expected at most {MAX_REFERENCE_S:.0f} s")
    return Voice(name, tuple(_mel(one, contract=contract) for one in references), contract)


def _mel(reference: Reference, *, contract: Contract) -> np.ndarray:
    """The mel [F, M] float32 of a clip, processed as the clips in the shards were."""
    spec = contract.features
    try:
        signal = process(resample(reference.signal, rate_hz=spec.sample_rate_hz), steps=contract.processing)
        return log_mel(signal.samples, spec=spec)
    except (Rejected, ValueError) as error:
        raise UserError(
            f"reference {reference.name}: {error}; expected a clip of a voice, some seconds long"
        ) from error


def write_voice(path: Path, voice: Voice) -> None:
    """Save a voice.

    Raises:
        UserError: the file cannot be written.
    """
    metadata = {"format": FORMAT, "name": voice.name, "contract": voice.contract.model_dump_json()}
    tensors = {f"mel.{number:04d}": np.ascontiguousarray(mel) for number, mel in enumerate(voice.mels)}
    write_tensors(path, tensors, metadata=metadata)


def read_voice(path: Path) -> Voice:
    """Load a saved voice.

    Raises:
        UserError: the file cannot be read, or is no voice.
    """
    advice = "save the voice again"
    metadata, tensors = read_tensors(path, metadata=_Metadata, max_bytes=MAX_FILE_BYTES, what="voice", advice=advice)
    mels = tuple(tensors.values())
    bands = metadata.contract.features.n_mels
    if metadata.format != FORMAT or not mels or not all(_is_mel(one, bands=bands) for one in mels):
        raise UserError(f"{path}: not a voice ({FORMAT} expected); save the voice again")
    return Voice(metadata.name, mels, metadata.contract)


def _is_mel(array: np.ndarray, *, bands: int) -> bool:
    is_shaped = array.dtype == np.float32 and array.ndim == 2 and array.shape[1:] == (bands,) and len(array) > 0
    return is_shaped and bool(np.isfinite(array).all())
