"""The voice of a request: the part of a reference clip that the model hears."""

from __future__ import annotations

import numpy as np

from preprocess.audio import resample
from preprocess.mel import log_mel
from preprocess.processing import process
from preprocess.utterance import Rejected
from shared.dataset import Contract
from shared.errors import UserError
from trainer.model.reference_crop import loudest_part
from trainer.speech.request import Reference


def reference_mel(reference: Reference, *, contract: Contract) -> np.ndarray:
    """The mel [F, M] float32 of a decoded clip, processed as the clips in the shards were.

    Raises:
        UserError: the clip has no usable sound.
    """
    spec = contract.features
    try:
        signal = process(resample(reference.signal, rate_hz=spec.sample_rate_hz), steps=contract.processing)
        return log_mel(signal.samples, spec=spec)
    except (Rejected, ValueError) as error:
        raise UserError(
            f"reference {reference.path}: {error}; expected a clip of a voice, some seconds long"
        ) from error


def reference_crop(mel: np.ndarray, *, frames: int) -> np.ndarray:
    """The loudest `frames` consecutive frames of a reference mel [F, M], [C, M]; all of a shorter one."""
    return loudest_part(mel, frames=frames).numpy()
