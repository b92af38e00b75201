"""Classifies the voice of a clip by the model's speaker embedding, and independently by pitch."""

from __future__ import annotations

import numpy as np

from tests.learn.clips import Clip
from tests.learn.synthesis import RunSynthesizer


class VoiceClassifier:
    """Finds the voice with the nearest mean speaker embedding over some recordings."""

    def __init__(self, recordings: list[Clip], *, speaker: RunSynthesizer):
        self._speaker = speaker
        embeddings = speaker.speaker_embeddings([clip.mel for clip in recordings])
        self._centres = _by_voice(embeddings, recordings)

    def nearest(self, mels: list[np.ndarray]) -> list[str]:
        """The voice with the most similar embedding, of each mel [F, M]."""
        return [
            max(self._centres, key=lambda voice: float(embedding @ self._centres[voice]))
            for embedding in self._speaker.speaker_embeddings(mels)
        ]


def nearest_by_pitch(heard_hz: np.ndarray, *, recorded_hz: np.ndarray, recordings: list[Clip]) -> list[str]:
    """The voice whose recordings' mean pitch is nearest, as a ratio, of each clip's pitch [clips]."""
    centres = _by_voice(np.log(recorded_hz), recordings)
    return [min(centres, key=lambda voice: abs(pitch - centres[voice])) for pitch in np.log(heard_hz)]


def _by_voice(values: np.ndarray, clips: list[Clip]) -> dict[str, np.ndarray]:
    """The mean over each voice's clips."""
    voices = np.array([clip.voice for clip in clips])
    return {voice: values[voices == voice].mean(axis=0) for voice in sorted(set(voices.tolist()))}
