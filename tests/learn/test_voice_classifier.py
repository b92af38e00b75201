"""Classification of two voices, by embedding and by pitch."""

from __future__ import annotations

import numpy as np

from tests.learn.clips import Clip
from tests.learn.voice_classifier import VoiceClassifier, nearest_by_pitch

NOBODY = np.zeros([1, 4], np.float32)


def recorded(*voices: str) -> list[Clip]:
    return [Clip("the lady finds the tiger", voice, np.zeros(3, np.int32), NOBODY) for voice in voices]


def test_the_nearest_pitch_is_by_ratio_and_not_by_difference() -> None:
    recordings = recorded("high", "low", "high", "low")
    recorded_hz = np.array([198.0, 102.0, 202.0, 98.0])
    heard_hz = np.array([90.0, 139.0, 144.0, 250.0])  # the middle of 100 and 200 is 141.4 by ratio
    told = nearest_by_pitch(heard_hz, recorded_hz=recorded_hz, recordings=recordings)
    assert told == ["low", "low", "high", "high"]


class Ears:
    """Stands for a speaker: the embedding of a mel is its first frame."""

    def speaker_embeddings(self, mels: list[np.ndarray]) -> np.ndarray:
        return np.stack([mel[0] / np.linalg.norm(mel[0]) for mel in mels])


def test_the_nearest_embedding_is_that_of_the_smallest_angle_to_a_voices_mean() -> None:
    random = np.random.default_rng(1)
    one, other = random.normal(size=(2, 8))
    mels = {"one": one, "other": other}
    recordings = [
        clip._replace(mel=(mels[clip.voice] + 0.3 * random.normal(size=8))[None]) for clip in recorded(*10 * list(mels))
    ]
    voices = VoiceClassifier(recordings, speaker=Ears())
    spoken = [scale * mels[name][None] for name in ("one", "other", "one") for scale in (0.1, 9.0)]
    assert voices.nearest(spoken) == ["one", "one", "other", "other", "one", "one"]
