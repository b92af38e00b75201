"""Chains of shapes, against every chain there is."""

from __future__ import annotations

import itertools

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies

from trainer.data.bucket_search import BucketBounds, search_bucket_bounds

RECORDS = strategies.lists(
    strategies.tuples(strategies.integers(1, 12), strategies.integers(1, 6), strategies.sampled_from([0.5, 1.0, 3.0])),
    min_size=1,
    max_size=7,
)
TOKEN_FRAMES = strategies.sampled_from([0.0, 0.25, 1.0, 4.0])


def cost_of(shapes: list[tuple[int, int]], records: list[tuple[int, int, float]], *, token_frames: float) -> float:
    """Each record in the first shape that holds it."""
    total = 0.0
    for frames, tokens, weight in records:
        held = next(shape for shape in shapes if shape[0] >= frames and shape[1] >= tokens)
        total += weight * (held[0] + token_frames * held[1])
    return total


def every_chain(records: list[tuple[int, int, float]], *, shapes: int, last: tuple[int, int]) -> list[list]:
    """All rising chains of at most so many shapes over all pairs of lengths, not only those that occur together."""
    frames, tokens = {one[0] for one in records}, {one[1] for one in records}
    points = sorted(itertools.product(frames, tokens))
    chosen = itertools.chain.from_iterable(itertools.combinations(points, size) for size in range(shapes))
    chains = [[*below, last] for below in chosen]
    return [chain for chain in chains if all(a[1] <= b[1] for a, b in itertools.pairwise(chain))]


def as_shapes(chain: BucketBounds) -> list[tuple[int, int]]:
    return list(zip(chain.frames.tolist(), chain.tokens.tolist(), strict=True))


@pytest.mark.slow
@hypothesis.given(RECORDS, TOKEN_FRAMES, strategies.integers(0, 14), strategies.integers(0, 8))
def test_no_other_chain_is_cheaper(
    records: list[tuple[int, int, float]], token_frames: float, frames: int, tokens: int
) -> None:
    columns = [np.array(column) for column in zip(*records, strict=True)]
    found = search_bucket_bounds(
        columns[0], columns[1], weights=columns[2], shapes=3, token_frames=token_frames, at_least=(frames, tokens)
    )
    assert found.strides == (1, 1)
    last = max(frames, *columns[0]), max(tokens, *columns[1])
    for shapes, chain in enumerate(found.bounds, start=1):
        assert len(chain.frames) <= shapes
        assert as_shapes(chain)[-1] == last
        cheapest = min(
            cost_of(other, records, token_frames=token_frames)
            for other in every_chain(records, shapes=shapes, last=last)
        )
        assert np.isclose(chain.cost, cheapest, rtol=1e-12)
        assert np.isclose(cost_of(as_shapes(chain), records, token_frames=token_frames), cheapest, rtol=1e-12)


@hypothesis.given(RECORDS, TOKEN_FRAMES)
def test_shapes_rise_and_more_of_them_are_never_dearer(
    records: list[tuple[int, int, float]], token_frames: float
) -> None:
    columns = [np.array(column) for column in zip(*records, strict=True)]
    chains = search_bucket_bounds(
        columns[0], columns[1], weights=columns[2], shapes=6, token_frames=token_frames
    ).bounds
    for chain in chains:
        for below, above in itertools.pairwise(as_shapes(chain)):
            assert below != above
            assert below[0] <= above[0]
            assert below[1] <= above[1]
    assert all(more.cost <= fewer.cost for fewer, more in itertools.pairwise(chains))


def test_a_coarser_grid_is_said_and_costs_little() -> None:
    """Lengths as of 20,000 clips of up to 30 s: near the optimum the cost is flat."""
    random = np.random.default_rng(1)
    duration_s = np.clip(random.gamma(2.0, 2.5, 20_000) + 0.5, 0.5, 30.0)
    frames = -(-(duration_s * 86).astype(int) // 8) * 8
    tokens = -(-(duration_s * random.normal(4.5, 1.0, 20_000)).astype(int).clip(2, 200) // 8) * 8
    options = {"weights": np.ones(len(frames)), "shapes": 12, "token_frames": 0.8}
    exact, coarse = (search_bucket_bounds(frames, tokens, **options, max_points=most) for most in (6_000, 800))
    assert exact.strides == (1, 1)
    assert coarse.strides != (1, 1)
    for fine, rough in zip(exact.bounds, coarse.bounds, strict=True):
        assert fine.cost <= rough.cost <= 1.005 * fine.cost
        held = np.maximum(np.searchsorted(rough.frames, frames), np.searchsorted(rough.tokens, tokens))
        assert held.max() < len(rough.frames)
