"""Keeps a synthesis on its text: a bias on the attention of each step, and conditions under which speech may end.

    alignment of the last step ─► focus: the text position that is being spoken; it moves forward only
    focus, visits ─► bias on the scores of the text: low far from the focus, and where it stayed for long

Such a prior at inference is NeMo's remedy for speech that repeats or skips words (NVIDIA NeMo, pull request 14418,
2025). The bias applies to every block and head. The end of speech is accepted only near the end of the text.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

MAX_MOVE = 3  # positions that the focus may move in a step; in training it moves by 0 to 2
OUTSIDE_BIAS = -6.0  # on scores of positions that are behind the focus by two or more, or ahead by more than MAX_MOVE
VISIT_BIAS = -0.5  # for each step that a position was attended to above the allowed number
END_POSITIONS = 2  # the last positions of a text, at which it may end: its last piece and the end token


class TextGuide(NamedTuple):
    """Limits of a synthesis; B texts."""

    token_counts: tf.Tensor  # [B] int32, positions of each text
    min_steps: tf.Tensor  # [B] int32, before which speech does not end
    max_visits: tf.Tensor  # [] int32, steps that the attention may stay at a position
    max_tail_steps: tf.Tensor  # [B] int32, after which speech is ended once the focus has reached the last position


class GuideState(NamedTuple):
    """What has been spoken so far."""

    focus: tf.Tensor  # [B] int32
    visits: tf.Tensor  # [B, T] int32, steps at which each position was the focus
    tail_steps: tf.Tensor  # [B] int32, steps since the focus reached the last position


def begin_guide(batch: int | tf.Tensor, *, tokens: int) -> GuideState:
    """The state before the first step, for texts that are padded to `tokens` positions."""
    none = tf.zeros([batch], tf.int32)
    return GuideState(focus=none, visits=tf.zeros([batch, tokens], tf.int32), tail_steps=none)


def attention_bias(state: GuideState, guide: TextGuide) -> tf.Tensor:
    """The bias on the scores of each text position, [B, T] float32."""
    ahead = tf.range(tf.shape(state.visits)[1])[None, :] - state.focus[:, None]
    outside = (ahead < -1) | (ahead > MAX_MOVE)
    excess = tf.cast(tf.maximum(state.visits - guide.max_visits, 0), tf.float32)
    return tf.where(outside, OUTSIDE_BIAS, 0.0) + VISIT_BIAS * excess


def follow(state: GuideState, guide: TextGuide, alignment: tf.Tensor) -> GuideState:
    """The state after a step whose attention on the text was `alignment` [B, T]."""
    attended = tf.argmax(alignment, 1, output_type=tf.int32)
    focus = tf.clip_by_value(attended, state.focus, state.focus + MAX_MOVE)
    positions = tf.range(tf.shape(state.visits)[1])[None, :]
    visits = state.visits + tf.cast(positions == focus[:, None], tf.int32)
    is_last = focus >= guide.token_counts - 1
    return GuideState(focus, visits, state.tail_steps + tf.cast(is_last, tf.int32))


def may_end(state: GuideState, guide: TextGuide, *, steps: tf.Tensor) -> tf.Tensor:
    """Whether the end of each text may be predicted after `steps` steps, [B] bool."""
    return (state.focus >= guide.token_counts - END_POSITIONS) & (steps >= guide.min_steps)


def must_end(state: GuideState, guide: TextGuide, *, steps: tf.Tensor) -> tf.Tensor:
    """Whether nothing more of each text can follow after `steps` steps, although no end was predicted, [B] bool."""
    return (state.tail_steps > guide.max_tail_steps) & (steps >= guide.min_steps)
