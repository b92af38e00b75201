"""The conditioning crop of a training clip, chosen so that it cannot leak into the loss."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from trainer.model.rng import Noise

SHORTEST = 1 / 8  # of the longest crop
SHARED_FRAMES = 3  # on either side of a frame, those that have samples in common with it: n_fft / hop − 1


class Crop(NamedTuple):
    """Part of each clip, as a reference of its voice."""

    mel: tf.Tensor  # [B, C, M], zeros past its length
    frames: tf.Tensor  # [B] int32, 0 where there is no reference
    heard: tf.Tensor  # [B, F], True for the frames that the crop shows, in full or in part


def choose_crop(mel: tf.Tensor, frames: tf.Tensor, *, crop_frames: int, dropped: float, noise: Noise | None) -> Crop:
    """A piece of each clip of random length at a random place; without noise the longest at its start.

    The caller leaves the heard frames out of its loss, as XTTS does (Casanova et al., 2024): what the crop says of
    the words is of no use then, what it says of the voice is. Its length is drawn, up to `crop_frames` and to half of
    the clip: a crop that always was the half of a short clip would tell when to stop.

    Args:
        mel: [B, F, M] ln magnitude.
        frames: [B] int32, valid frames.
        dropped: share of the clips that get no crop, so that the model learns to speak without one (classifier-free
            dropout, Ho & Salimans, 2022); none where the noise is not that of training.
    """
    length, place = tf.minimum(frames // 2, crop_frames), tf.zeros(tf.shape(frames))
    if noise is not None:
        size, lot, place = (noise.uniform(tf.shape(frames)) for _ in range(3))
        least = tf.minimum(length, max(1, int(SHORTEST * crop_frames)))
        length = least + _drawn(length - least + 1, size)
        length = tf.where((lot < dropped) & noise.trains, 0, length)
    start = _drawn(frames - length + 1, place)
    numbers = tf.range(min(crop_frames, mel.shape[1]))[None, :]
    within = numbers < length[:, None]
    cropped = tf.gather(mel, tf.minimum(start[:, None] + numbers, mel.shape[1] - 1), batch_dims=1)
    positions = tf.range(mel.shape[1])[None, :]
    first, end = start - SHARED_FRAMES, start + length + SHARED_FRAMES
    heard = (positions >= first[:, None]) & (positions < end[:, None])
    heard &= tf.sequence_mask(tf.where(length > 0, frames, 0), mel.shape[1])
    return Crop(tf.where(within[:, :, None], cropped, 0.0), length, heard)


def unheard_part(mel: tf.Tensor, frames: tf.Tensor, *, crop: Crop) -> tuple[tf.Tensor, tf.Tensor]:
    """Of mels [B, F, M] with so many frames [B] a piece that the crop does not show, no longer than crops are.

    It is from the longer of the two sides of the crop, next to it: [B, C, M], zeros past its length, and that [B].
    """
    size, most = mel.shape[1], crop.mel.shape[1]
    numbers = tf.range(size)[None, :]
    first = tf.reduce_min(tf.where(crop.heard, numbers, size), 1)
    end = tf.reduce_max(tf.where(crop.heard, numbers + 1, 0), 1)
    before = tf.minimum(first, frames)
    is_after = frames - end >= before
    length = tf.minimum(tf.where(is_after, frames - end, before), most)
    start = tf.where(is_after, end, before - length)
    places = start[:, None] + tf.range(most)[None, :]
    piece = tf.gather(mel, tf.minimum(places, size - 1), batch_dims=1)
    return tf.where(tf.sequence_mask(length, most)[:, :, None], piece, 0.0), length


def _drawn(count: tf.Tensor, lot: tf.Tensor) -> tf.Tensor:
    """One of the numbers from 0 to count − 1, by a lot in [0, 1)."""
    return tf.cast(lot * tf.cast(count, tf.float32), tf.int32)


def loudest_part(mel: tf.Tensor | np.ndarray, *, frames: tf.Tensor | int) -> tf.Tensor:
    """What is heard of a reference [F, M] that is longer than so many frames, [C, M]: pauses tell of no voice."""
    mel = tf.convert_to_tensor(mel)
    sums = tf.pad(tf.cumsum(tf.reduce_mean(tf.cast(mel, tf.float64), 1)), [(1, 0)])
    length = tf.minimum(frames, tf.shape(mel)[0])
    start = tf.argmax(sums[length:] - sums[: tf.size(sums) - length], output_type=tf.int32)
    return mel[start : start + length]
