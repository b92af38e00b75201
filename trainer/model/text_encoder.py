"""Text encoder: tokens of the compact vocabulary to contextual vectors."""

from __future__ import annotations

import keras
import tensorflow as tf

from trainer.model.layers import Block, key_mask, norm, sinusoids
from trainer.model.noise import Noise
from trainer.model.size import Stack


class TextEncoder(keras.layers.Layer):
    """Embedding and bidirectional transformer; the first token is the language's and so its embedding."""

    def __init__(self, stack: Stack, *, vocabulary_size: int, dropout: float, dtype: keras.DTypePolicy):
        super().__init__(name="text_encoder", dtype=dtype)
        self._width = stack.width
        self._embedding = keras.layers.Embedding(vocabulary_size, stack.width, name="embedding", dtype=dtype)
        self._blocks = [
            Block(stack, dropout=dropout, name=f"block_{index}", dtype=dtype) for index in range(stack.layers)
        ]
        self._norm = norm("norm", dtype=dtype)

    def call(self, tokens: tf.Tensor, token_counts: tf.Tensor, noise: Noise | None = None) -> tf.Tensor:
        """Encode tokens [B, T] int32, of which token_counts [B] are valid: [B, T, D]."""
        positions = sinusoids(tf.range(tokens.shape[1]), self._width)
        x = self._embedding(tokens) * self._width**0.5 + tf.cast(positions, self.compute_dtype)
        mask = key_mask(token_counts, tokens.shape[1])
        for block in self._blocks:
            x = block(x, mask, noise=noise)
        return self._norm(x)
