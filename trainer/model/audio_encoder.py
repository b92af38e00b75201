"""Audio encoder: a mel crop of a voice to Perceiver latents and a speaker embedding.

    crop [B, C, M] ─ conv, stride 2 ─ transformer ─┬─ Perceiver resampler ─► latents [B, L, D]
                                                   └─ masked mean, dense ──► speaker [B, S]

A crop of no frames is no reference: latents and speaker are then learned ones, the same for all such clips.
The resampler is Flamingo's (Alayrac et al., 2022), as in XTTS-v2 with 32 latents and two layers.
"""

from __future__ import annotations

from typing import NamedTuple

import keras
import tensorflow as tf

from trainer.model.layers import Attention, Block, FeedForward, key_mask, norm, sinusoids
from trainer.model.noise import Noise
from trainer.model.size import Size, Stack

NUM_LATENTS = 32
RESAMPLER_LAYERS = 2


class Conditioning(NamedTuple):
    """What the decoder knows of a voice."""

    latents: tf.Tensor  # [B, L, D]
    speaker: tf.Tensor  # [B, S]


class AudioEncoder(keras.layers.Layer):
    """The conditioning encoder."""

    def __init__(self, size: Size, *, dropout: float, dtype: keras.DTypePolicy):
        super().__init__(name="audio_encoder", dtype=dtype)
        stack = size.audio_encoder
        self._width = stack.width
        self._convolution = keras.layers.Conv1D(
            stack.width, 3, strides=2, activation="gelu", name="convolution", dtype=dtype
        )
        self._blocks = [
            Block(stack, dropout=dropout, name=f"block_{index}", dtype=dtype) for index in range(stack.layers)
        ]
        self._norm = norm("norm", dtype=dtype)
        self._resampler = Resampler(stack, name="resampler", dtype=dtype)
        self._speaker = keras.layers.Dense(size.speaker, name="speaker", dtype=dtype)

    def build(self, *_: object) -> None:
        initializer = keras.initializers.RandomNormal(stddev=0.02)
        shapes = {"no_latents": (NUM_LATENTS, self._width), "no_speaker": (self._speaker.units,)}
        self._nobody = Conditioning(
            *(self.add_weight(shape=shape, initializer=initializer, name=name) for name, shape in shapes.items())
        )

    def call(self, crop: tf.Tensor, crop_frames: tf.Tensor, noise: Noise | None = None) -> Conditioning:
        """Encode a standardised crop [B, C, M] with crop_frames [B] valid frames."""
        crop = tf.where(tf.sequence_mask(crop_frames, crop.shape[1])[:, :, None], crop, 0)
        # one zero on either side: frame i of the output sees frames 2i - 1, 2i, 2i + 1, however long the padding
        x = self._convolution(tf.pad(crop, [[0, 0], [1, 1], [0, 0]]))
        lengths = (crop_frames + 1) // 2
        x = x + tf.cast(sinusoids(tf.range(x.shape[1]), self._width), x.dtype)
        mask = key_mask(lengths, x.shape[1])
        for block in self._blocks:
            x = block(x, mask, noise=noise)
        x = self._norm(x)
        heard = Conditioning(self._resampler(x, mask), self._speaker(masked_mean(x, lengths)))
        return self._or_nobody(heard, crop_frames > 0)

    def _or_nobody(self, heard: Conditioning, given: tf.Tensor) -> Conditioning:
        """What was heard where a reference was given, [B]."""
        return Conditioning(
            tf.where(given[:, None, None], heard.latents, tf.cast(self._nobody.latents, heard.latents.dtype)),
            tf.where(given[:, None], heard.speaker, tf.cast(self._nobody.speaker, heard.speaker.dtype)),
        )


class Resampler(keras.layers.Layer):
    """Learned latents that attend to the encoded frames and to each other."""

    def __init__(self, stack: Stack, *, name: str, dtype: keras.DTypePolicy):
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

    def call(self, x: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """Resample x [B, C, D] under mask [B, 1, 1, C]: [B, L, D]."""
        latents = tf.tile(tf.cast(self._latents, x.dtype)[None], [tf.shape(x)[0], 1, 1])
        mask = tf.pad(mask, [[0, 0], [0, 0], [0, 0], [0, NUM_LATENTS]], constant_values=True)
        for attention_norm, attention, feed_forward_norm, feed_forward in self._layers_:
            normed = attention_norm(latents)
            attended, _ = attention(normed, attention.project(tf.concat([x, normed], 1)), mask)
            latents = latents + attended
            latents = latents + feed_forward(feed_forward_norm(latents))
        return self._norm(latents)


def masked_mean(x: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
    """Mean of x [B, C, D] over its first lengths [B] positions: [B, D]; zero where there is none."""
    weights = tf.sequence_mask(lengths, x.shape[1], dtype=x.dtype)[:, :, None]
    return tf.reduce_sum(x * weights, 1) / tf.cast(tf.maximum(lengths, 1), x.dtype)[:, None]
