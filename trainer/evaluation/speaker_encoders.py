"""Speaker encoders beside the model's own one: a voice as a vector, trained on thousands of speakers."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

import numpy as np

from trainer.evaluation.listeners import prepared_signal

Encoder = Callable[[np.ndarray], np.ndarray]


def resemblyzer_encoder(*, rate_hz: int) -> Encoder | None:
    """Resemblyzer's encoder (Wan et al., 2018), whose weights come with the package; None where it is not installed."""
    if importlib.util.find_spec("resemblyzer") is None:
        return None
    from resemblyzer import VoiceEncoder

    encoder = VoiceEncoder("cpu", verbose=False)  # trained at 16 kHz, which prepared_signal gives

    def embed(samples: np.ndarray) -> np.ndarray:
        """The unit vector [256] of a signal [S]."""
        return encoder.embed_utterance(prepared_signal(samples, rate_hz=rate_hz))

    return embed
