"""Images [height, width] of mels and alignments, with values in [0, 1].

Low bands and the first token are at the bottom; time runs to the right.
"""

from __future__ import annotations

import numpy as np


def mel_comparison_image(target: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """A mel [F, M] in ln magnitude above another one [G, M], both on the scale of the first."""
    low, high = float(target.min()), float(target.max())
    width = max(len(target), len(predicted))
    wide = [
        np.pad(mel.astype(np.float32), [(0, width - len(mel)), (0, 0)], constant_values=low)
        for mel in (target, predicted)
    ]
    stacked = np.concatenate([mel.T[::-1] for mel in wide])
    return np.clip((stacked - low) / max(high - low, 1e-6), 0, 1)


def alignment_image(alignment: np.ndarray) -> np.ndarray:
    """The attention [N, T] of decoder steps to tokens."""
    return alignment.T[::-1] / max(float(alignment.max()), 1e-6)
