"""Positions of a sequence: sinusoids that are added to the input, or rotary embeddings of queries and keys."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from trainer.config.model_sizes import StackDims


class Positions:
    """The positions of a stack of blocks.

    Sinusoidal positions (Vaswani et al., 2017, section 3.5) are added to the input of the first block, and so also
    reach the attention from decoder to text. Rotary positions (Su et al., 2021, arXiv:2104.09864) rotate queries and
    keys of self-attention in every block; attention to the text then goes by content alone.
    """

    def __init__(self, stack: StackDims, *, rotary: bool):
        self._width, self._head_width, self._rotary = stack.width, stack.width // stack.heads, rotary

    def added(self, x: tf.Tensor, numbers: tf.Tensor) -> tf.Tensor:
        """x [B, N, D] with sinusoids of the positions `numbers` [N] added; unchanged if positions are rotary."""
        return x if self._rotary else x + tf.cast(sinusoids(numbers, self._width), x.dtype)

    def rotation(self, numbers: tf.Tensor) -> tf.Tensor | None:
        """Sines and cosines for `apply_rotary`, [N, D / H]; None if positions are sinusoidal."""
        return sinusoids(numbers, self._head_width) if self._rotary else None


def sinusoids(numbers: tf.Tensor, width: int) -> tf.Tensor:
    """Sines, then cosines, of positions [N]: [N, width] float32."""
    frequencies = np.exp(-np.log(10_000.0) * np.arange(0, width, 2) / width).astype(np.float32)
    angles = tf.cast(numbers, tf.float32)[:, None] * frequencies[None, :]
    return tf.concat([tf.sin(angles), tf.cos(angles)], 1)


def apply_rotary(x: tf.Tensor, rotation: tf.Tensor | None) -> tf.Tensor:
    """Rotate queries or keys [B, N, H, D / H]: each pair (i, i + D / 2H) by its angle, computed in float32."""
    if rotation is None:
        return x
    sine, cosine = tf.split(rotation[None, :, None, :], 2, axis=-1)
    first, second = tf.split(tf.cast(x, tf.float32), 2, axis=-1)
    return tf.cast(tf.concat([first * cosine - second * sine, first * sine + second * cosine], -1), x.dtype)
