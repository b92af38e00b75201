"""The conditioning crop of a training clip, chosen so that it cannot leak into the loss."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from trainer.model.noise import Noise


class Crop(NamedTuple):
    """Part of each clip, as a reference of its voice."""

    mel: tf.Tensor  # [B, C, M], zeros past its length
    frames: tf.Tensor  # [B] int32, 0 where there is no reference
    heard: tf.Tensor  # [B, F], True for the frames that the crop shows


def choose_crop(mel: tf.Tensor, frames: tf.Tensor, *, crop_frames: int, dropped: float, noise: Noise | None) -> Crop:
    """At most `crop_frames` of each clip and at most half of it, at a random place, or at its start without noise.

    The caller leaves the heard frames out of its loss, as XTTS does (Casanova et al., 2024): what the crop says of
    the words is of no use then, what it says of the voice is.

    Args:
        mel: [B, F, M] ln magnitude.
        frames: [B] int32, valid frames.
        dropped: share of the clips that get no crop, so that the model learns to speak without one (classifier-free
            dropout, Ho & Salimans, 2022); none without noise.
    """
    length = tf.minimum(frames // 2, crop_frames)
    if noise is not None:
        length = tf.where(noise.uniform(tf.shape(frames)) < dropped, 0, length)
    place = tf.zeros(tf.shape(frames)) if noise is None else noise.uniform(tf.shape(frames))
    start = tf.cast(place * tf.cast(frames - length + 1, tf.float32), tf.int32)
    numbers = tf.range(min(crop_frames, mel.shape[1]))[None, :]
    within = numbers < length[:, None]
    cropped = tf.gather(mel, tf.minimum(start[:, None] + numbers, mel.shape[1] - 1), batch_dims=1)
    positions = tf.range(mel.shape[1])[None, :]
    heard = (positions >= start[:, None]) & (positions < (start + length)[:, None])
    return Crop(tf.where(within[:, :, None], cropped, 0.0), length, heard)
