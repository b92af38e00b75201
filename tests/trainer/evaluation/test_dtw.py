"""Dynamic time warping, compared with an enumeration of all paths."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.evaluation.dtw import dtw_distance_db, euclidean_distances, warping_path


def by_all_paths(one: np.ndarray, other: np.ndarray) -> float:
    """The recurrence, cell by cell."""
    db = 20.0 / np.log(10.0)
    d = np.array([[db * np.sqrt(np.mean(np.square(a - b))) for b in other] for a in one])

    @functools.cache
    def cost(f: int, g: int) -> float:
        if f == g == 0:
            return 2 * d[0, 0]
        steps = [(f - 1, g, 1), (f, g - 1, 1), (f - 1, g - 1, 2)]
        return min(cost(row, column) + weight * d[f, g] for row, column, weight in steps if row >= 0 and column >= 0)

    return cost(len(one) - 1, len(other) - 1) / (len(one) + len(other))


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 100))
def test_the_distance_is_that_of_the_best_of_all_paths(frames: int, other_frames: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    one, other = (random.normal(-5, 2, (size, 3)) for size in (frames, other_frames))
    assert dtw_distance_db(one, other) == pytest.approx(by_all_paths(one, other), rel=1e-3)


@pytest.mark.parametrize("scale", [1, 10, 640])
def test_equal_mels_have_no_distance_however_large_their_values(scale: int) -> None:
    mel = scale * np.random.default_rng(4).normal(-5, 1, (37, 80))
    assert dtw_distance_db(mel, mel.copy()) < 1e-5 * scale


def test_slower_speech_has_no_distance_and_louder_speech_has() -> None:
    mel = np.random.default_rng(0).normal(-5, 2, (40, 80)).astype(np.float32)
    assert dtw_distance_db(np.repeat(mel, 2, axis=0), mel) < 0.05
    assert dtw_distance_db(mel + np.log(10.0) / 20, mel) == pytest.approx(1.0, abs=0.05)
    other = np.random.default_rng(1).normal(-5, 2, (40, 80))
    assert dtw_distance_db(other, mel) > 10


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 100))
def test_the_path_has_the_cost_of_the_distance_and_leaves_no_frame_out(
    frames: int, other_frames: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    one, other = (random.normal(-5, 2, (size, 3)) for size in (frames, other_frames))
    distances = euclidean_distances(one, other)
    path = warping_path(distances)
    steps = np.diff(path, axis=0, prepend=-1)
    assert path[-1].tolist() == [frames - 1, other_frames - 1]
    assert {tuple(step) for step in steps.tolist()} <= {(1, 1), (1, 0), (0, 1)}
    cost = float((distances[path[:, 0], path[:, 1]] * steps.sum(1)).sum())
    db = 20.0 / np.log(10.0) / np.sqrt(3)
    assert db * cost / (frames + other_frames) == pytest.approx(by_all_paths(one, other), rel=1e-3)
