"""Where in a sequence a vector stands: sinusoids that are added, or rotations of queries and keys."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from trainer.config.model_sizes import Stack


class Positions:
    """Positions of a stack of blocks.

    Sinusoidal ones (Vaswani et al., 2017, section 3.5) are added to the input of the first block, and so reach the
    attention from decoder to text. Rotary ones (Su et al., 2021, arXiv:2104.09864) turn queries and keys of
    self-attention by their distance, in every block; the text is then found by what it says alone.
    """

    def __init__(self, stack: Stack, *, rotary: bool):
        self._width, self._head_width, self._rotary = stack.width, stack.width // stack.heads, rotary

    def added(self, x: tf.Tensor, numbers: tf.Tensor) -> tf.Tensor:
        """x [B, N, D] at positions numbers [N]; as it is where positions are rotary."""
        return x if self._rotary else x + tf.cast(sinusoids(numbers, self._width), x.dtype)

    def rotation(self, numbers: tf.Tensor) -> tf.Tensor | None:
        """Sines and cosines that `turned` takes, [N, D / H]; None where positions are added."""
        return sinusoids(numbers, self._head_width) if self._rotary else None


def sinusoids(numbers: tf.Tensor, width: int) -> tf.Tensor:
    """Sines, then cosines, of positions [N]: [N, width] float32."""
    frequencies = np.exp(-np.log(10_000.0) * np.arange(0, width, 2) / width).astype(np.float32)
    angles = tf.cast(numbers, tf.float32)[:, None] * frequencies[None, :]
    return tf.concat([tf.sin(angles), tf.cos(angles)], 1)


def turned(x: tf.Tensor, rotation: tf.Tensor | None) -> tf.Tensor:
    """Queries or keys [B, N, H, D / H], each pair (i, i + D / 2H) turned by its angle; float32 on the way."""
    if rotation is None:
        return x
    sine, cosine = tf.split(rotation[None, :, None, :], 2, axis=-1)
    first, second = tf.split(tf.cast(x, tf.float32), 2, axis=-1)
    return tf.cast(tf.concat([first * cosine - second * sine, first * sine + second * cosine], -1), x.dtype)
