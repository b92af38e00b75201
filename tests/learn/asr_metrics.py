"""Word error rates of mels: a vocoder, then speech recognition under the grammar and under a model of English."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import NamedTuple

import numpy as np

from shared.features import FeatureSpec
from tests.learn.clips import Clip
from tests.learn.grammar import jsgf
from tests.learn.metrics import pitch_hz, word_error_rate
from trainer.evaluation.listeners import PocketsphinxListener
from trainer.speech.griffin_lim import griffin_lim
from trainer.vocoder.vocoder import Vocoder


class AsrMetrics(NamedTuple):
    """Word error rates and pitches of some clips."""

    grammar_errors: float  # wrong words over spoken words
    english_errors: float
    pitches_hz: np.ndarray  # [clips]


class MelTranscriber:
    """Turns mels into sound and recognizes its words."""

    def __init__(self, spec: FeatureSpec, *, vocoder: Path | None = None):
        """Without a vocoder file, Griffin-Lim makes the sounds."""
        self._spec = spec
        self._vocode = Vocoder.load(vocoder, spec=spec) if vocoder else functools.partial(griffin_lim, spec=spec)
        self._strict, self._free = PocketsphinxListener(grammar=jsgf()), PocketsphinxListener()

    def evaluate(self, mels: list[np.ndarray], clips: list[Clip]) -> AsrMetrics:
        """Compare the words of mels [F, M] with the texts of the clips."""
        rate, said = self._spec.sample_rate_hz, [clip.text for clip in clips]
        sounds = [self._vocode(mel) for mel in mels]
        strict, free = (
            word_error_rate([listener.transcribe(sound, rate_hz=rate) for sound in sounds], said)
            for listener in (self._strict, self._free)
        )
        return AsrMetrics(strict, free, np.array([pitch_hz(sound, rate_hz=rate) for sound in sounds]))
