"""Text encoder: tokens of the compact vocabulary to contextual vectors."""

from __future__ import annotations

import keras
import tensorflow as tf

from trainer.config.model_sizes import Stack
from trainer.model.layers import Encoder, Recipe, key_mask
from trainer.model.rng import Noise


class TextEncoder(keras.layers.Layer):
    """Embedding and bidirectional transformer.

    The language is embedded as its token, the first of every text, to which all others attend in every block: so
    NLLB and XTTS-v2 tell languages apart too, and a second table of the same languages would say nothing new.
    """

    def __init__(self, stack: Stack, recipe: Recipe, *, vocabulary_size: int):
        super().__init__(name="text_encoder", dtype=recipe.dtype)
        self._width = stack.width
        self._embedding = keras.layers.Embedding(vocabulary_size, stack.width, name="embedding", dtype=recipe.dtype)
        self._encoder = Encoder(stack, recipe, name="encoder")

    def call(self, tokens: tf.Tensor, token_counts: tf.Tensor, noise: Noise | None = None) -> tf.Tensor:
        """Encode tokens [B, T] int32, of which token_counts [B] are valid: [B, T, D]."""
        x = self._embedding(tokens) * self._width**0.5
        return self._encoder(x, key_mask(token_counts, tokens.shape[1]), noise=noise)
