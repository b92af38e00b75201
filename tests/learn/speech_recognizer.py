"""Speech recognition by pocketsphinx, under a grammar or under its own model of English."""

from __future__ import annotations

import numpy as np
import soxr
from pocketsphinx import Decoder

from tests.learn.metrics import word_errors

RATE_HZ = 16_000
PEAK = 0.7
SILENCE_S = 0.2  # before and after a clip, which recordings for it have


class SpeechRecognizer:
    """Recognizes words."""

    def __init__(self, *, grammar: str | None):
        """`grammar` is in JSGF; None recognizes any English."""
        self._decoder = Decoder(samprate=RATE_HZ, loglevel="FATAL")
        if grammar is not None:
            self._decoder.add_jsgf_string("learn", grammar)
            self._decoder.activate_search("learn")

    def transcribe(self, samples: np.ndarray, *, rate_hz: int) -> list[str]:
        """The words of a signal [S]; empty if nothing is recognized."""
        sound = soxr.resample(samples.astype(np.float32), rate_hz, RATE_HZ)
        sound = np.pad(sound * (PEAK / max(float(np.abs(sound).max(initial=0.0)), 1e-6)), int(SILENCE_S * RATE_HZ))
        self._decoder.start_utt()
        self._decoder.process_raw((sound * 32767).astype("<i2").tobytes(), full_utt=True)
        self._decoder.end_utt()
        hypothesis = self._decoder.hyp()
        return hypothesis.hypstr.split() if hypothesis else []


def word_error_rate(heard: list[list[str]], said: list[list[str]]) -> float:
    """Word errors over spoken words; above 1 if many words are inserted."""
    errors = sum(word_errors(one, other) for one, other in zip(heard, said, strict=True))
    return errors / sum(map(len, said))
