"""Tells voices apart without a model: by the long-term spectrum and the pitch of a clip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import librosa
import numpy as np

from trainer.evaluation.cepstra import mel_cepstra

LOUD_SHARE = 0.6  # the loudest frames of a clip, which are used
PITCH_HZ = (50.0, 500.0)
LOUD_DB = 25.0  # pitch is measured where speech is at most so far below its loudest


def voice_profile(mel: np.ndarray, *, samples: np.ndarray, rate_hz: int) -> np.ndarray:
    """The mean cepstrum of the loud frames of a mel [F, M], and the logarithm of the pitch: [14]."""
    level = mel.mean(axis=1)
    loud = mel[level >= np.quantile(level, 1.0 - LOUD_SHARE)]
    return np.append(mel_cepstra(loud).mean(axis=0), np.log2(median_pitch_hz(samples, rate_hz=rate_hz)))


def median_pitch_hz(samples: np.ndarray, *, rate_hz: int) -> float:
    """Median pitch of the loud part of a signal [S] by YIN (de Cheveigné & Kawahara, 2002)."""
    pitch = librosa.yin(samples, fmin=PITCH_HZ[0], fmax=PITCH_HZ[1], sr=rate_hz, frame_length=2048, hop_length=256)
    level = librosa.feature.rms(y=samples, frame_length=1024, hop_length=256)[0]
    level_db = librosa.amplitude_to_db(level, ref=np.max)
    return float(np.median(pitch[: len(level)][level_db[: len(pitch)] > -LOUD_DB]))


def nearest_voice(profile: np.ndarray, *, recorded: Mapping[str, Sequence[np.ndarray]]) -> str:
    """The voice whose recordings' mean profile is nearest.

    Each element of the profiles is divided by its standard deviation between recordings of one voice.

    Args:
        recorded: profiles [14] of recordings by voice, two or more of each.
    """
    means = {voice: np.mean(profiles, axis=0) for voice, profiles in recorded.items()}
    within = np.mean([np.var(profiles, axis=0, ddof=1) for profiles in recorded.values()], axis=0)
    scale = np.sqrt(within) + 1e-9
    return min(means, key=lambda voice: float(np.square((profile - means[voice]) / scale).sum()))


def nearest_embedding(embedding: np.ndarray, *, recorded: Mapping[str, Sequence[np.ndarray]]) -> str:
    """The voice whose recordings' mean embedding has the greatest cosine with an embedding [S]."""
    means = {voice: np.mean(embeddings, axis=0) for voice, embeddings in recorded.items()}
    return max(means, key=lambda voice: float(embedding @ means[voice] / np.linalg.norm(means[voice])))
