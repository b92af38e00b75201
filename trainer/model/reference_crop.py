"""Reference crops: a random crop of each training clip, excluded from its loss; the loudest part of a reference."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from trainer.model.rng import RngStream, shape_of

MIN_CROP_SHARE = 1 / 8  # of the longest crop
SHARED_FRAMES = 3  # frames on either side of a frame that have samples in common with it: n_fft / hop − 1


class Crop(NamedTuple):
    """Part of each clip, as a reference of its voice."""

    mel: tf.Tensor  # [B, C, M], zeros past its length
    frames: tf.Tensor  # [B] int32, 0: no reference
    reference_mask: tf.Tensor  # [B, F], True for the clip's frames that the crop shows, in full or in part


def choose_crop(
    mel: tf.Tensor, frames: tf.Tensor, *, crop_frames: int, dropped: float, noise: RngStream | None
) -> Crop:
    """Choose a crop of random length at a random place in each clip; without noise, the longest one at its start.

    The caller excludes the frames of `reference_mask` from its loss, as XTTS does (Casanova et al., 2024): the crop
    then helps with the voice and not with the words. Its length is random, up to `crop_frames` and to half of the clip:
    a crop that was always half of a short clip would reveal where speech ends.

    Args:
        mel: [B, F, M] ln magnitude.
        frames: [B] int32, valid frames.
        dropped: share of the clips that get no crop in training, so that the model learns to speak without one
            (classifier-free guidance, Ho & Salimans, 2022).
    """
    length, place = tf.minimum(frames // 2, crop_frames), tf.zeros(shape_of(frames))
    if noise is not None:
        size, lot, place = (noise.uniform(shape_of(frames)) for _ in range(3))
        least = tf.minimum(length, max(1, int(MIN_CROP_SHARE * crop_frames)))
        length = least + _uniform_int(length - least + 1, size)
        length = tf.where((lot < dropped) & noise.trains, 0, length)
    start = _uniform_int(frames - length + 1, place)
    numbers = tf.range(min(crop_frames, mel.shape[1]))[None, :]
    is_valid = numbers < length[:, None]
    cropped = tf.gather(mel, tf.minimum(start[:, None] + numbers, mel.shape[1] - 1), batch_dims=1)
    positions = tf.range(mel.shape[1])[None, :]
    first, end = start - SHARED_FRAMES, start + length + SHARED_FRAMES
    mask = (positions >= first[:, None]) & (positions < end[:, None])
    mask &= tf.sequence_mask(tf.where(length > 0, frames, 0), mel.shape[1])
    return Crop(tf.where(is_valid[:, :, None], cropped, 0.0), length, mask)


def replace_crop(crop: Crop, mel: tf.Tensor, frames: tf.Tensor) -> Crop:
    """The crops, replaced by parts of other clips where there are such parts; a dropped reference stays dropped.

    Of the clip itself, a part of another clip shows nothing, so that no frame is excluded from the loss.

    Args:
        mel, frames: [B, C, M] in ln magnitude, zeros past [B] int32 frames; 0: no part. C is no less than the crops'.
    """
    is_other = (frames > 0) & (crop.frames > 0)
    own = tf.pad(crop.mel, [[0, 0], [0, mel.shape[1] - crop.mel.shape[1]], [0, 0]])
    return Crop(
        tf.where(is_other[:, None, None], mel, own),
        tf.where(is_other, frames, crop.frames),
        crop.reference_mask & ~is_other[:, None],
    )


def _uniform_int(count: tf.Tensor, uniform: tf.Tensor) -> tf.Tensor:
    """A number from 0 to count − 1, from a uniform one in [0, 1)."""
    return tf.cast(uniform * tf.cast(count, tf.float32), tf.int32)


def reference_pieces(mel: tf.Tensor | np.ndarray, *, frames: tf.Tensor | int) -> tf.Tensor:
    """Divide a reference [F, M] into as few pieces of `frames` frames as cover all of it, [P, C, M].

    The pieces are evenly spaced, so neighbours may overlap. C is F for a shorter reference.
    """
    mel = tf.convert_to_tensor(mel)
    size = tf.shape(mel)[0]
    length = tf.minimum(frames, size)
    pieces = tf.maximum(1, -(-size // tf.maximum(length, 1)))
    starts = tf.range(pieces) * (size - length) // tf.maximum(pieces - 1, 1)
    return tf.gather(mel, starts[:, None] + tf.range(length)[None, :])


def loudest_part(mel: tf.Tensor | np.ndarray, *, frames: tf.Tensor | int) -> tf.Tensor:
    """The `frames` consecutive frames of a reference [F, M] with the most energy, [C, M]; pauses carry no voice."""
    mel = tf.convert_to_tensor(mel)
    sums = tf.pad(tf.cumsum(tf.reduce_mean(tf.cast(mel, tf.float64), 1)), [(1, 0)])
    length = tf.minimum(frames, tf.shape(mel)[0])
    start = tf.argmax(sums[length:] - sums[: tf.size(sums) - length], output_type=tf.int32)
    return mel[start : start + length]
