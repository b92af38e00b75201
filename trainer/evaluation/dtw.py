"""Dynamic time warping: the best alignment of two sequences of different lengths.

The symmetric form of Sakoe & Chiba (1978, "Dynamic programming algorithm optimization for spoken word recognition"): a
step in both sequences counts twice and a step in one of them once, so every path has weight F + G.
"""

from __future__ import annotations

import math

import numpy as np

DB_PER_NEPER = 20.0 / math.log(10.0)


def dtw_distance_db(one: np.ndarray, other: np.ndarray) -> float:
    """Return the RMS difference over bands, in dB, averaged over the best alignment of two mels.

    Args:
        one: [F, M] ln magnitude.
        other: [G, M] ln magnitude.
    """
    distances = euclidean_distances(one, other) / math.sqrt(one.shape[1])
    return DB_PER_NEPER * float(_least_costs(distances)[-1, -1]) / (len(one) + len(other))


def euclidean_distances(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the Euclidean distance of every pair of rows of [F, D] and [G, D], [F, G] float64.

    In float32 the difference of large squares would leave a distance between equal rows.
    """
    one, other = one.astype(np.float64), other.astype(np.float64)
    squares = np.square(one).sum(1)[:, None] + np.square(other).sum(1)[None] - 2.0 * (one @ other.T)
    return np.sqrt(np.maximum(squares, 0.0))


def warping_path(distances: np.ndarray) -> np.ndarray:
    """Return the cells of the best path through distances [F, G], from (0, 0) to (F - 1, G - 1), as [K, 2] int64."""
    costs = _least_costs(distances)
    row, column = distances.shape
    cells = []
    while row and column:
        cells.append((row - 1, column - 1))
        d = distances[row - 1, column - 1]
        from_both = costs[row - 1, column - 1] + 2.0 * d
        from_row, from_column = costs[row - 1, column] + d, costs[row, column - 1] + d
        if from_both <= min(from_row, from_column):
            row, column = row - 1, column - 1
        elif from_row <= from_column:
            row -= 1
        else:
            column -= 1
    return np.array(cells[::-1], np.int64).reshape(-1, 2)


def _least_costs(distances: np.ndarray) -> np.ndarray:
    """Return the least cost of all paths from the first cell of [F, G] to each cell, [F + 1, G + 1] from row -1 on.

    c[f, g] = min(c[f − 1, g] + d, c[f, g − 1] + d, c[f − 1, g − 1] + 2 d), one anti-diagonal at a time.
    """
    rows, columns = distances.shape
    costs = np.full([rows + 1, columns + 1], np.inf)
    costs[0, 0] = 0.0
    for diagonal in range(rows + columns - 1):
        row = np.arange(max(0, diagonal - columns + 1), min(rows, diagonal + 1))
        column = diagonal - row
        d = distances[row, column]
        one_step = np.minimum(costs[row, column + 1], costs[row + 1, column]) + d
        costs[row + 1, column + 1] = np.minimum(one_step, costs[row, column] + 2.0 * d)
    return costs
