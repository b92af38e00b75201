"""Changes the pace of speech before the vocoder: the mel is read faster or slower, so that the pitch stays."""

from __future__ import annotations

import numpy as np


def stretch_mel(mel: np.ndarray, *, speed: float) -> np.ndarray:
    """A mel [F, M] at another pace, [round(F / speed), M]: linear interpolation between frames, in ln magnitude.

    A speed of 1 gives the mel itself.
    """
    if speed == 1.0 or len(mel) < 2:
        return mel
    places = np.linspace(0, len(mel) - 1, max(1, round(len(mel) / speed)), dtype=np.float32)
    before = np.minimum(places.astype(np.int64), len(mel) - 2)
    share = (places - before)[:, None]
    return (1 - share) * mel[before] + share * mel[before + 1]
