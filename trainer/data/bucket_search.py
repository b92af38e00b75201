"""Exact dynamic programming for the batch shapes with the least padding.

K shapes (f₁, t₁) ≤ … ≤ (f_K, t_K) rise in frames and in tokens; a record goes into the first shape that holds both its
lengths. Let N(f, t) be the number of records of at most f frames and t tokens, and c = f + w t the cost of a padded
record of a shape. The shapes then cost Σ c_k (N_k − N_{k−1}). Only neighbours interact, so

    best_k(p) = min over p' ≤ p of  best_{k−1}(p') + c(p) (N(p) − N(p'))

is the least cost of at most k shapes, the last being p. Points p are pairs of lengths that occur. A pair that could
shrink in one length and still hold the same records is left out: shrinking never costs more, and smaller shapes can
shrink with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# All pairs of points are compared: 3,000 points take 150 MB, and 50 ms for each further shape.
MAX_POINTS = 3_000


class BucketBounds(NamedTuple):
    """The largest frames and tokens of each shape, in rising order, and the cost of all records in these shapes."""

    frames: np.ndarray  # [K] int64
    tokens: np.ndarray  # [K] int64
    cost: float  # in frames


class SearchResult(NamedTuple):
    """For each k, the cheapest bounds of at most k + 1 shapes; exact if both strides are 1."""

    bounds: list[BucketBounds]
    strides: tuple[int, int]  # every n-th frame length, and token length, was tried as a bound


class _Points(NamedTuple):
    """Candidates for a bound, ordered by frames, then by tokens; the last one holds every record."""

    frames: np.ndarray  # [P] int64
    tokens: np.ndarray  # [P] int64
    records: np.ndarray  # [P] float64, those of at most so many frames and tokens


def search_bucket_bounds(
    frames: np.ndarray,
    tokens: np.ndarray,
    *,
    weights: np.ndarray,
    shapes: int,
    token_frames: float,
    at_least: tuple[int, int] = (0, 0),
    max_points: int = MAX_POINTS,
) -> SearchResult:
    """Find the cheapest bounds of 1, 2, … `shapes` shapes for one or more records.

    Args:
        frames, tokens: [R] lengths of the records, aligned as the shapes are to be.
        weights: [R] how often each record is sampled, above 0.
        token_frames: w, the cost of a token in frames.
        at_least: frames and tokens that the last shape holds even if no record has them.
        max_points: with more candidates than this, every second length of the more numerous kind is dropped.
    """
    if token_frames == 0:  # then a shape with the most tokens costs no more
        tokens = np.full_like(tokens, tokens.max())
    axes, strides = [np.unique(frames), np.unique(tokens)], [1, 1]
    while np.count_nonzero(_tight(_counted(frames, tokens, axes=axes))) > max_points:
        longer = int(len(axes[1]) > len(axes[0]))
        axes[longer], strides[longer] = axes[longer][::-2][::-1], 2 * strides[longer]  # the last length stays
    points = _points(frames, tokens, axes=axes, weights=weights, at_least=at_least)
    bounds = _best_bounds(points, costs=points.frames + token_frames * points.tokens, shapes=shapes)
    return SearchResult(bounds, (strides[0], strides[1]))


def _counted(
    frames: np.ndarray, tokens: np.ndarray, *, axes: list[np.ndarray], weights: np.ndarray | None = None
) -> np.ndarray:
    """The number of records, or the sum of their weights, in each cell of the grid, [F, T]."""
    shape = (len(axes[0]), len(axes[1]))
    cells = np.searchsorted(axes[0], frames) * shape[1] + np.searchsorted(axes[1], tokens)
    return np.bincount(cells, weights, minlength=shape[0] * shape[1]).reshape(shape)


def _tight(counts: np.ndarray) -> np.ndarray:
    """True for points of the grid [F, T] that lose a record by shrinking in frames, and one by shrinking in tokens."""
    present = counts > 0
    return np.logical_or.accumulate(present, axis=1) & np.logical_or.accumulate(present, axis=0)


def _points(
    frames: np.ndarray,
    tokens: np.ndarray,
    *,
    axes: list[np.ndarray],
    weights: np.ndarray,
    at_least: tuple[int, int],
) -> _Points:
    at = np.nonzero(_tight(_counted(frames, tokens, axes=axes)))
    held = _counted(frames, tokens, axes=axes, weights=weights).cumsum(0).cumsum(1)
    points = _Points(axes[0][at[0]], axes[1][at[1]], held[at])
    last = max(axes[0][-1], at_least[0]), max(axes[1][-1], at_least[1]), held[-1, -1]
    if (points.frames[-1], points.tokens[-1]) == last[:2]:
        return points
    return _Points(*(np.append(column, value) for column, value in zip(points, last, strict=True)))


def _best_bounds(points: _Points, *, costs: np.ndarray, shapes: int) -> list[BucketBounds]:
    """The recurrence of the module's docstring, for k = 1 … shapes."""
    alone = costs * points.records
    steps = _steps(points, costs=costs)
    best, predecessors, found = alone, list[np.ndarray](), list[BucketBounds]()
    for _ in range(shapes):
        found.append(_walk_back(points, predecessors=predecessors, cost=float(best[-1])))
        reached = steps + best
        before = np.argmin(reached, axis=1)
        through = np.take_along_axis(reached, before[:, None], axis=1)[:, 0] + alone
        predecessors.append(np.where(through < best, before, -1))
        best = np.minimum(through, best)
    return found


def _steps(points: _Points, *, costs: np.ndarray) -> np.ndarray:
    """−c(p) N(p') where p' < p, infinity elsewhere, [P, P]."""
    below = (points.frames <= points.frames[:, None]) & (points.tokens <= points.tokens[:, None])
    np.fill_diagonal(below, False)
    return np.where(below, -costs[:, None] * points.records, np.inf)


def _walk_back(points: _Points, *, predecessors: list[np.ndarray], cost: float) -> BucketBounds:
    """The bounds that end in the last point; a predecessor of −1 means that one more shape saved nothing."""
    path = [len(points.frames) - 1]
    for before in reversed(predecessors):
        if before[path[-1]] >= 0:
            path.append(int(before[path[-1]]))
    path.reverse()
    return BucketBounds(points.frames[path], points.tokens[path], cost)
