"""Distance between two mels of different lengths: dynamic time warping."""

from __future__ import annotations

import math

import numpy as np

DB_PER_NEPER = 20.0 / math.log(10.0)


def dtw_distance_db(one: np.ndarray, other: np.ndarray) -> float:
    """Return the RMS difference over bands, in dB, averaged over the best alignment of two mels.

    The symmetric form of Sakoe & Chiba (1978, "Dynamic programming algorithm optimization for spoken word
    recognition"): a step in both mels counts twice and a step in one of them once, so every path has weight F + G.

    Args:
        one: [F, M] ln magnitude.
        other: [G, M] ln magnitude.
    """
    distances = _distances(one.astype(np.float32), other.astype(np.float32))
    return DB_PER_NEPER * _least_cost(distances) / (len(one) + len(other))


def _distances(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the RMS difference over bands of every pair of frames, [F, G]."""
    squares = np.square(one).mean(1)[:, None] + np.square(other).mean(1)[None] - 2.0 * (one @ other.T) / one.shape[1]
    return np.sqrt(np.maximum(squares, 0.0))


def _least_cost(distances: np.ndarray) -> float:
    """Return the least cost of all paths from the first to the last cell of [F, G], one anti-diagonal at a time.

    c[f, g] = min(c[f − 1, g] + d, c[f, g − 1] + d, c[f − 1, g − 1] + 2 d)
    """
    rows, columns = distances.shape
    before = last = np.full(rows + 1, np.inf)  # by row, from −1: costs of the two diagonals before the current one
    for diagonal in range(rows + columns - 1):
        here = np.arange(max(0, diagonal - columns + 1), min(rows, diagonal + 1))
        d = distances[here, diagonal - here]
        cost = np.full(rows + 1, np.inf)
        if diagonal == 0:
            cost[1] = 2.0 * d[0]
        else:
            cost[here + 1] = np.minimum(np.minimum(last[here], last[here + 1]) + d, before[here] + 2.0 * d)
        before, last = last, cost
    return float(last[rows])
