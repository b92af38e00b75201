"""Chains of shapes: the exact dynamic programme behind the bucket plan.

A chain is K shapes (f₁, t₁) ≤ … ≤ (f_K, t_K), rising in frames and in tokens; a record goes into the first shape
that holds both its lengths. With N(f, t) the records of at most f frames and t tokens, and c = f + w t what a
padded record of a shape costs, a chain costs Σ c_k (N_k − N_{k−1}): only neighbours meet, so that

    best_k(p) = min over p' ≤ p of  best_{k−1}(p') + c(p) (N(p) − N(p'))

is the cheapest chain of at most k shapes that ends in p. Points p are pairs of lengths that occur. Those that could
shrink in one of them and still hold the same records are left out: shrinking is never dearer, and what lies below in
the chain can shrink along.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Every pair of points is looked at: 3,000 points take 150 MB, and 50 ms for each further shape.
MAX_POINTS = 3_000


class Chain(NamedTuple):
    """Shapes in rising order, and what all records cost in them, in frames."""

    frames: np.ndarray  # [K] int64
    tokens: np.ndarray  # [K] int64
    cost: float


class Chains(NamedTuple):
    """The cheapest chain of at most k + 1 shapes, for each k; exact where both strides are 1."""

    of: list[Chain]
    strides: tuple[int, int]  # a shape may end at every so-many-th of the frames, and of the tokens, that occur


class _Points(NamedTuple):
    """Where a shape may end, in the order of frames, then of tokens; the last holds every record."""

    frames: np.ndarray  # [P] int64
    tokens: np.ndarray  # [P] int64
    records: np.ndarray  # [P] float64, those of at most so many frames and tokens


def cheapest_chains(
    frames: np.ndarray,
    tokens: np.ndarray,
    *,
    weights: np.ndarray,
    shapes: int,
    token_frames: float,
    at_least: tuple[int, int] = (0, 0),
    max_points: int = MAX_POINTS,
) -> Chains:
    """The cheapest chains of up to `shapes` shapes for records of these lengths, [R] each, one or more.

    Args:
        frames: aligned as the shapes are to be; tokens likewise.
        weights: how often each record is heard, [R], above 0.
        token_frames: w, the frames that one token costs as much as.
        at_least: frames and tokens that the last shape holds even if no record has them.
        max_points: where more pairs of lengths are worth a shape, every second length of the more numerous is taken.
    """
    if token_frames == 0:  # then every shape may as well hold the most tokens
        tokens = np.full_like(tokens, tokens.max())
    axes, strides = [np.unique(frames), np.unique(tokens)], [1, 1]
    while np.count_nonzero(_tight(_counted(frames, tokens, axes=axes))) > max_points:
        longer = int(len(axes[1]) > len(axes[0]))
        axes[longer], strides[longer] = axes[longer][::-2][::-1], 2 * strides[longer]  # the last length stays
    points = _points(frames, tokens, axes=axes, weights=weights, at_least=at_least)
    return Chains(
        _chains(points, costs=points.frames + token_frames * points.tokens, shapes=shapes), (strides[0], strides[1])
    )


def _counted(
    frames: np.ndarray, tokens: np.ndarray, *, axes: list[np.ndarray], weights: np.ndarray | None = None
) -> np.ndarray:
    """Records, or the sum of their weights, in each cell of the grid, [F, T]."""
    shape = (len(axes[0]), len(axes[1]))
    cells = np.searchsorted(axes[0], frames) * shape[1] + np.searchsorted(axes[1], tokens)
    return np.bincount(cells, weights, minlength=shape[0] * shape[1]).reshape(shape)


def _tight(counts: np.ndarray) -> np.ndarray:
    """Whether a point of the grid [F, T] would lose a record by shrinking in frames, and one in tokens."""
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


def _chains(points: _Points, *, costs: np.ndarray, shapes: int) -> list[Chain]:
    alone = costs * points.records
    steps = _steps(points, costs=costs)
    best, befores, chains = alone, list[np.ndarray](), list[Chain]()
    for _ in range(shapes):
        chains.append(_walk(points, befores=befores, cost=float(best[-1])))
        reached = steps + best
        before = np.argmin(reached, axis=1)
        through = np.take_along_axis(reached, before[:, None], axis=1)[:, 0] + alone
        befores.append(np.where(through < best, before, -1))
        best = np.minimum(through, best)
    return chains


def _steps(points: _Points, *, costs: np.ndarray) -> np.ndarray:
    """−c(p) N(p') where p' < p, and never otherwise, [P, P]."""
    below = (points.frames <= points.frames[:, None]) & (points.tokens <= points.tokens[:, None])
    np.fill_diagonal(below, False)
    return np.where(below, -costs[:, None] * points.records, np.inf)


def _walk(points: _Points, *, befores: list[np.ndarray], cost: float) -> Chain:
    """From the last point down: the point before it in a chain of one shape more, or none where that saved nothing."""
    path = [len(points.frames) - 1]
    for before in reversed(befores):
        if before[path[-1]] >= 0:
            path.append(int(before[path[-1]]))
    path.reverse()
    return Chain(points.frames[path], points.tokens[path], cost)
