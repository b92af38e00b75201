"""A speaker encoder beside the model's own one: a voice as a vector, trained on thousands of speakers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from preprocess.audio import Signal, resample
from preprocess.speaker_encoder import RATE_HZ, SpeakerEncoder, has_speaker_encoder

Encoder = Callable[[np.ndarray], np.ndarray]


def resemblyzer_encoder(*, rate_hz: int) -> Encoder | None:
    """Resemblyzer's encoder (Wan et al., 2018); None where its weights are not installed."""
    if not has_speaker_encoder():
        return None
    encoder = SpeakerEncoder()

    def embed(samples: np.ndarray) -> np.ndarray:
        """The unit vector [256] of a signal [S]."""
        return encoder(resample(Signal(samples, rate_hz), rate_hz=RATE_HZ).samples)

    return embed
