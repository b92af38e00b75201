"""Metrics of a clip for the learn check: words, attention, length, pitch."""

from __future__ import annotations

import librosa
import numpy as np

from trainer.evaluation.text_errors import text_errors

LARGEST_MOVE = 2  # tokens in one decoder step
TOLERANCE = 0.15  # of a recording's length
LOUD_DB = 25.0  # pitch is heard where speech is at most so far below its loudest
PITCH_HZ = (60.0, 320.0)


def word_error_rate(heard: list[str], said: list[str]) -> float:
    """Word errors of texts over their words; above 1 if many words are inserted."""
    errors = [text_errors(one, said=other) for one, other in zip(heard, said, strict=True)]
    return sum(one.word_errors for one in errors) / sum(one.words for one in errors)


def orderly_moves(alignment: np.ndarray) -> np.ndarray:
    """For an alignment [N, T]: whether the most attended token moves on by 0 to 2 at each step, [N - 1] bool."""
    moves = np.diff(alignment.argmax(axis=1))
    return (moves >= 0) & (moves <= LARGEST_MOVE)


def has_length_of(frames: int, recorded_frames: int) -> bool:
    """True if the length is within 15 % of that of the recording."""
    return abs(frames - recorded_frames) <= TOLERANCE * recorded_frames


def pitch_hz(samples: np.ndarray, *, rate_hz: int) -> float:
    """Median pitch of the loud part of a signal [S] by YIN (de Cheveigné & Kawahara, 2002)."""
    pitch = librosa.yin(samples, fmin=PITCH_HZ[0], fmax=PITCH_HZ[1], sr=rate_hz, frame_length=1024)
    level_db = librosa.amplitude_to_db(librosa.feature.rms(y=samples, frame_length=1024, hop_length=256)[0], ref=np.max)
    return float(np.median(pitch[level_db[: len(pitch)] > -LOUD_DB]))
