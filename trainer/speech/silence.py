"""Finds silence in a mel, relative to the loudest part of its speech."""

from __future__ import annotations

import numpy as np

LOUD_QUANTILE = 0.95  # of the frames' levels: the level of loud speech
QUIET_BELOW_LOUD = 5.0  # ln magnitude, 43 dB; quieter frames are silent


def silent_frames(mel: np.ndarray) -> np.ndarray:
    """True for the silent frames of a mel [F, M] in ln magnitude, [F] bool."""
    if not len(mel):
        return np.zeros(0, bool)
    levels = mel.max(1)
    return levels < np.quantile(levels, LOUD_QUANTILE) - QUIET_BELOW_LOUD


def longest_pause(mel: np.ndarray) -> int:
    """The number of frames of the longest silence."""
    edges = np.flatnonzero(np.diff(np.pad(silent_frames(mel).astype(np.int8), 1)))
    return int((edges[1::2] - edges[::2]).max(initial=0))


def spoken_length(mel: np.ndarray, *, tail_frames: int) -> int:
    """The number of frames up to the last one that is not silent, and at most `tail_frames` after it."""
    loud = np.flatnonzero(~silent_frames(mel))
    return min(len(mel), int(loud[-1]) + 1 + tail_frames) if len(loud) else len(mel)
