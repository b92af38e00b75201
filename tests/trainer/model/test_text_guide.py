"""The guide of a synthesis: a focus that moves forward only, a bias around it, and when speech may end."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.model.text_guide import (
    MAX_MOVE,
    OUTSIDE_BIAS,
    VISIT_BIAS,
    TextGuide,
    attention_bias,
    begin_guide,
    follow,
    may_end,
    must_end,
)

T = 9


def guide(*, token_counts: list[int], min_steps: int = 0, max_visits: int = 3, max_tail_steps: int = 4) -> TextGuide:
    rows = len(token_counts)
    return TextGuide(
        tf.constant(token_counts), tf.constant([min_steps] * rows), max_visits, tf.constant([max_tail_steps] * rows)
    )


def attention(positions: list[int]) -> tf.Tensor:
    return tf.one_hot(positions, T)


def focuses(path: list[int]) -> list[int]:
    state, limits = begin_guide(1, tokens=T), guide(token_counts=[T])
    found = []
    for position in path:
        state = follow(state, limits, attention([position]))
        found.append(int(state.focus[0]))
    return found


def test_the_focus_follows_the_attention_forward() -> None:
    assert focuses([0, 0, 1, 3, 6, 8, 8]) == [0, 0, 1, 3, 6, 8, 8]


def test_the_focus_does_not_return_and_does_not_leap() -> None:
    assert focuses([2, 0, 8, 1, 8]) == [2, 2, 2 + MAX_MOVE, 2 + MAX_MOVE, 8]


@pytest.mark.slow
@given(path=st.lists(st.integers(0, T - 1), min_size=1, max_size=12))
@settings(max_examples=25, deadline=None)
def test_whatever_the_attention_the_focus_rises_by_few_positions(path: list[int]) -> None:
    moves = np.diff([0, *focuses(path)])
    assert moves.min() >= 0
    assert moves.max() <= MAX_MOVE


def test_positions_far_from_the_focus_are_biased() -> None:
    state = begin_guide(1, tokens=T)._replace(focus=tf.constant([4]))
    bias = attention_bias(state, guide(token_counts=[T])).numpy()[0]
    assert bias.tolist() == [OUTSIDE_BIAS] * 3 + [0.0] * (2 + MAX_MOVE) + [OUTSIDE_BIAS]


def test_a_position_is_biased_more_with_each_step_beyond_the_allowed_ones() -> None:
    state, limits = begin_guide(1, tokens=T), guide(token_counts=[T], max_visits=2)
    found = []
    for _ in range(5):
        state = follow(state, limits, attention([1]))
        found.append(float(attention_bias(state, limits)[0, 1]))
    assert found == [0.0, 0.0, VISIT_BIAS, 2 * VISIT_BIAS, 3 * VISIT_BIAS]


@pytest.mark.parametrize(
    ("focus", "steps", "expected"),
    [
        (T - 3, 90, False),  # the text is not spoken yet
        (T - 2, 9, False),  # too early for a text of this length
        (T - 2, 10, True),
        (T - 1, 10, True),
    ],
)
def test_speech_may_end_near_the_end_of_the_text_only(focus: int, steps: int, expected: bool) -> None:
    state = begin_guide(1, tokens=T)._replace(focus=tf.constant([focus]))
    found = may_end(state, guide(token_counts=[T], min_steps=10), steps=tf.constant(steps))
    assert found.numpy().tolist() == [expected]


def test_speech_must_end_some_steps_after_the_focus_has_reached_the_last_position_of_each_text() -> None:
    state, limits = begin_guide(2, tokens=T), guide(token_counts=[3, T], max_tail_steps=2)
    found = []
    for step, position in enumerate((0, 1, 2, 2, 2, 2), 1):
        state = follow(state, limits, attention([position, position]))
        found.append(must_end(state, limits, steps=tf.constant(step)).numpy().tolist())
    assert found == [[False, False]] * 4 + [[True, False]] * 2
    early = limits._replace(min_steps=tf.constant([9, 9]))
    assert must_end(state, early, steps=tf.constant(8)).numpy().tolist() == [False, False]
