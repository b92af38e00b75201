"""Reference encoder: a mel crop of a voice to Perceiver latents and a speaker embedding.

    crop [B, C, M] ─ conv, stride 2 ─ transformer ─┬─ Perceiver resampler ─► latents [B, L, D]
                                                   └─ masked mean ─┬─ dense ──► speaker [B, S]
                                                                   └─ style tokens (option) ─► one more latent

Without a reference (a crop of no frames), latents and speaker are learned ones, the same for all such clips.
The resampler is Flamingo's (Alayrac et al., 2022), as in XTTS-v2 with 32 latents and two layers.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import keras
import tensorflow as tf

from trainer.config.model_sizes import ModelDims, StackDims
from trainer.model.attention import Attention, batch_size, build_for, key_mask
from trainer.model.layers import Encoder, FeedForward, LayerConfig, norm
from trainer.model.rng import RngStream

CROP_KERNEL, CROP_STRIDE = 3, 2
NUM_LATENTS = 32
RESAMPLER_LAYERS = 2
STYLE_WIDTH = 256  # of a style token, four heads


class Conditioning(NamedTuple):
    """The representation of a voice that the decoder is conditioned on."""

    latents: tf.Tensor  # [B, L, D], L is larger by one with style tokens
    speaker: tf.Tensor  # [B, S]

    def mean(self) -> Conditioning:
        """The mean over the batch, as a batch of one: the voice of several crops of a speaker."""
        return Conditioning(*(tf.reduce_mean(one, 0, keepdims=True) for one in self))


class ReferenceEncoder(keras.layers.Layer):
    """The conditioning encoder; the layer is named audio_encoder, as in the weights' names in checkpoints."""

    def __init__(self, size: ModelDims, layer_config: LayerConfig, *, n_mels: int, style_tokens: int):
        super().__init__(name="audio_encoder", dtype=layer_config.dtype)
        stack, dtype = size.reference_encoder, layer_config.dtype
        self._width, self._n_mels = stack.width, n_mels
        self._convolution = keras.layers.Conv1D(
            stack.width, CROP_KERNEL, strides=CROP_STRIDE, activation="gelu", name="convolution", dtype=dtype
        )
        self._encoder = Encoder(stack, layer_config, name="encoder")
        self._resampler = Resampler(stack, name="resampler", dtype=dtype)
        self._style = StyleTokens(stack, count=style_tokens, name="style", dtype=dtype) if style_tokens else None
        self._speaker = keras.layers.Dense(size.speaker, name="speaker", dtype=dtype)

    def build(self, *_: object) -> None:
        initializer = keras.initializers.RandomNormal(stddev=0.02)
        count = NUM_LATENTS + (self._style is not None)
        self._no_latents = self.add_weight(shape=(count, self._width), initializer=initializer, name="no_latents")
        self._no_speaker = self.add_weight(shape=(self._speaker.units,), initializer=initializer, name="no_speaker")
        build_for(self._n_mels, self._convolution)
        build_for(self._width, self._encoder, self._resampler, *filter(None, [self._style]), self._speaker)

    def call(self, crop: tf.Tensor, crop_frames: tf.Tensor, noise: RngStream | None = None) -> Conditioning:
        """Encode a standardised crop [B, C, M] with crop_frames [B] valid frames."""
        crop = tf.where(tf.sequence_mask(crop_frames, crop.shape[1])[:, :, None], crop, 0)
        # one zero on either side: output frame i depends on frames 2i - 1, 2i, 2i + 1, however long the padding
        x = self._convolution(tf.pad(crop, [[0, 0], [1, 1], [0, 0]]))
        lengths = (crop_frames + 1) // 2
        mask = key_mask(lengths, x.shape[1])
        x = self._encoder(x, mask, noise=noise)
        latents, pooled = self._resampler(x, mask), masked_mean(x, lengths)
        if self._style is not None:
            latents = tf.concat([latents, self._style(pooled)], 1)
        return self._with_null(Conditioning(latents, self._speaker(pooled)), crop_frames > 0)

    def _with_null(self, conditioning: Conditioning, given: tf.Tensor) -> Conditioning:
        """The conditioning for clips whose reference is given, [B], the learned null conditioning for the others."""
        latents, speaker = conditioning
        return Conditioning(
            tf.where(given[:, None, None], latents, tf.cast(self._no_latents, latents.dtype)),
            tf.where(given[:, None], speaker, tf.cast(self._no_speaker, speaker.dtype)),
        )


class StyleTokens(keras.layers.Layer):
    """Global style tokens (Wang et al., 2018, arXiv:1803.09017): style as a mixture of a few learned tokens.

    Keys and values are tanh of the tokens, as in the paper. The query is the pooled reference (there, convolutions and
    a GRU); the mixture becomes one more latent (there, it is added to the text).
    """

    def __init__(self, stack: StackDims, *, count: int, name: str, dtype: keras.DTypePolicy):
        super().__init__(name=name, dtype=dtype)
        self._count, self._width = count, stack.width
        self._attention = Attention(StackDims(STYLE_WIDTH, 1), name="attention", dtype=dtype)
        self._query = keras.layers.Dense(STYLE_WIDTH, name="query", dtype=dtype)
        self._output = keras.layers.Dense(stack.width, name="output", dtype=dtype)

    def build(self, *_: object) -> None:
        initializer = keras.initializers.RandomNormal(stddev=0.5)
        self._tokens = self.add_weight(shape=(self._count, STYLE_WIDTH), initializer=initializer, name="tokens")
        build_for(self._width, self._query)
        build_for(STYLE_WIDTH, self._attention, self._output)

    def call(self, pooled: tf.Tensor) -> tf.Tensor:
        """The style of a reference pooled over time [B, D]: [B, 1, D]."""
        tokens = tf.tile(tf.tanh(tf.cast(self._tokens, pooled.dtype))[None], [batch_size(pooled), 1, 1])
        mixed, _ = self._attention(self._query(pooled)[:, None, :], self._attention.project(tokens), tf.constant(True))
        return self._output(mixed)


class Resampler(keras.layers.Layer):
    """Learned latents that attend to the encoded frames and to each other."""

    def __init__(self, stack: StackDims, *, name: str, dtype: keras.DTypePolicy):
        super().__init__(name=name, dtype=dtype)
        self._width = stack.width
        self._layers_ = [
            (
                norm(f"norm_{index}", dtype=dtype),
                Attention(stack, name=f"attention_{index}", dtype=dtype),
                norm(f"feed_forward_norm_{index}", dtype=dtype),
                FeedForward(stack.width, name=f"feed_forward_{index}", dtype=dtype),
            )
            for index in range(RESAMPLER_LAYERS)
        ]
        self._norm = norm("norm", dtype=dtype)

    def build(self, *_: object) -> None:
        initializer = keras.initializers.RandomNormal(stddev=0.02)
        self._latents = self.add_weight(shape=(NUM_LATENTS, self._width), initializer=initializer, name="latents")
        build_for(self._width, *itertools.chain(*self._layers_), self._norm)

    def call(self, x: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """Resample x [B, C, D] under mask [B, 1, 1, C]: [B, L, D]."""
        latents = tf.tile(tf.cast(self._latents, x.dtype)[None], [batch_size(x), 1, 1])
        mask = tf.pad(mask, [[0, 0], [0, 0], [0, 0], [0, NUM_LATENTS]], constant_values=True)
        for attention_norm, attention, feed_forward_norm, feed_forward in self._layers_:
            normed = attention_norm(latents)
            attended, _ = attention(normed, attention.project(tf.concat([x, normed], 1)), mask)
            latents = latents + attended
            latents = latents + feed_forward(feed_forward_norm(latents))
        return self._norm(latents)


def masked_mean(x: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
    """Mean of x [B, C, D] over its first lengths [B] positions, [B, D]; 0 for none. Summed in float32."""
    weights = tf.sequence_mask(lengths, x.shape[1], dtype=tf.float32)[:, :, None]
    total = tf.reduce_sum(tf.cast(x, tf.float32) * weights, 1)
    return tf.cast(total / tf.cast(tf.maximum(lengths, 1), tf.float32)[:, None], x.dtype)
