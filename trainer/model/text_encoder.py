"""Text encoder: tokens of the compact vocabulary to contextual vectors."""

from __future__ import annotations

import keras
import tensorflow as tf

from trainer.config.model_sizes import StackDims
from trainer.model.attention import build_for, key_mask
from trainer.model.layers import Encoder, LayerConfig
from trainer.model.rng import RngStream


class TextEncoder(keras.layers.Layer):
    """Embedding and bidirectional transformer.

    The language is a token, the first of every text, to which all others attend in every block. NLLB and XTTS-v2
    distinguish languages in the same way; a separate embedding of languages would add nothing.
    """

    def __init__(self, stack: StackDims, layer_config: LayerConfig, *, vocabulary_size: int):
        super().__init__(name="text_encoder", dtype=layer_config.dtype)
        self._width = stack.width
        self._embedding = keras.layers.Embedding(
            vocabulary_size, stack.width, name="embedding", dtype=layer_config.dtype
        )
        self._encoder = Encoder(stack, layer_config, name="encoder")

    def build(self, *_: object) -> None:
        build_for(self._width, self._embedding, self._encoder)

    def call(self, tokens: tf.Tensor, token_counts: tf.Tensor, noise: RngStream | None = None) -> tf.Tensor:
        """Encode tokens [B, T] int32, the first token_counts [B] of which are valid: [B, T, D]."""
        x = self._embedding(tokens) * self._width**0.5
        return self._encoder(x, key_mask(token_counts, tokens.shape[1]), noise=noise)
