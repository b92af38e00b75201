"""XTTS: a text and a crop of a voice to the mel of that text in that voice."""

from __future__ import annotations

from typing import Literal, NamedTuple

import keras
import pydantic
import tensorflow as tf

from shared.config import Config
from trainer.model.audio_encoder import AudioEncoder, Conditioning
from trainer.model.decoder import Decoded, Decoder, Memory
from trainer.model.layers import sinusoids
from trainer.model.noise import Noise
from trainer.model.size import SIZES
from trainer.model.text_encoder import TextEncoder

POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16"}


class ModelConfig(Config):
    """Which XTTS."""

    size: Literal["nano", "tiny", "small", "normal", "big"] = "normal"
    frames_per_step: int = pydantic.Field(4, ge=1)  # r; 4 at hop 256 and 22,050 Hz are 21.53 steps/s, as XTTS-v2
    crop_frames: int = pydantic.Field(256, ge=8)  # of the conditioning crop, at most
    dropout: float = pydantic.Field(0.1, ge=0, lt=1)
    precision: Literal["float32", "bfloat16"] = "bfloat16"


class Generated(NamedTuple):
    """Free-running output."""

    mel: tf.Tensor  # [1, N r, M] ln magnitude, zeros past the end
    steps: tf.Tensor  # how many decoder steps were taken
    alignment: tf.Tensor  # mean over heads of the last block on the text, [N, T]


class XTTS(keras.Model):
    """Text encoder, audio encoder and decoder."""

    def __init__(self, config: ModelConfig, *, vocabulary_size: int, n_mels: int):
        super().__init__(name="xtts")
        size, policy = SIZES[config.size], keras.DTypePolicy(POLICIES[config.precision])
        self.config, self._n_mels = config, n_mels
        self.text_encoder = TextEncoder(
            size.text_encoder, vocabulary_size=vocabulary_size, dropout=config.dropout, dtype=policy
        )
        self.audio_encoder = AudioEncoder(size, dropout=config.dropout, dtype=policy)
        self.decoder = Decoder(
            size, n_mels=n_mels, frames_per_step=config.frames_per_step, dropout=config.dropout, dtype=policy
        )
        self._decoder_width = size.decoder.width
        self._make_weights()

    def _make_weights(self) -> None:
        """Run every layer once, on as little as possible."""
        mel = tf.zeros([1, 4 * self.config.frames_per_step, self._n_mels])
        one = tf.ones([1], tf.int32)
        self.decoder.build()
        self(mel, tokens=tf.zeros([1, 1], tf.int32), token_counts=one, crop=mel, crop_frames=one)

    def call(
        self,
        mel: tf.Tensor,
        *,
        tokens: tf.Tensor,
        token_counts: tf.Tensor,
        crop: tf.Tensor,
        crop_frames: tf.Tensor,
        noise: Noise | None = None,
    ) -> Decoded:
        """Teacher forcing.

        Args:
            mel: [B, F, M] ln magnitude, F a multiple of r.
            tokens, token_counts: [B, T] int32 of the compact vocabulary and [B].
            crop, crop_frames: [B, C, M] ln magnitude of the voice and [B].
            noise: of dropout and sampling; without it nothing is random.
        """
        memory = self.remember(tokens, token_counts, self.listen(crop, crop_frames, noise), noise)
        return self.decoder(mel, memory, noise=noise)

    def listen(self, crop: tf.Tensor, crop_frames: tf.Tensor, noise: Noise | None = None) -> Conditioning:
        """What a crop [B, C, M] in ln magnitude says of its voice."""
        return self.audio_encoder(self.decoder.normalise(crop), crop_frames, noise=noise)

    def remember(
        self, tokens: tf.Tensor, token_counts: tf.Tensor, voice: Conditioning, noise: Noise | None = None
    ) -> Memory:
        """The memory of the decoder for a text in a voice."""
        text = self.text_encoder(tokens, token_counts, noise=noise)
        return self.decoder.remember(text, token_counts, voice.latents, voice.speaker)

    def generate(
        self,
        tokens: tf.Tensor,
        *,
        crop: tf.Tensor,
        crop_frames: tf.Tensor,
        max_steps: int,
        seed: tf.Tensor | int,
        stop_threshold: float = 0.5,
    ) -> Generated:
        """Speak one text [1, T] in the voice of a crop [1, C, M], until the stop is predicted."""
        memory = self.remember(tokens, tf.constant([tokens.shape[1]]), self.listen(crop, crop_frames))
        r, text_size = self.config.frames_per_step, tokens.shape[1]
        positions = tf.constant(sinusoids(max_steps, self._decoder_width))

        def proceed(position: tf.Tensor, stopped: tf.Tensor, *_: object) -> tf.Tensor:
            return (position < max_steps) & ~stopped

        def advance(position, stopped, previous, mel, alignment, cache):
            noise = Noise(seed=seed, step=position)
            step, cache = self.decoder.step(previous, memory, cache, position, positions, noise)
            drawn = self.decoder.draw(step.mean, step.log_variance, noise=noise)
            sharp = self.decoder.sharpen(drawn)
            here = (tf.range(max_steps) == position)[:, None]
            mel = tf.where(tf.repeat(here, r, axis=0)[None], tf.tile(drawn, [1, max_steps, 1]), mel)
            weights = tf.reduce_mean(step.alignment[0, :, 0, -text_size:], 0)
            alignment = tf.where(here, weights[None], alignment)
            stopped = tf.sigmoid(step.stop_logits[0, 0]) > stop_threshold
            return position + 1, stopped, sharp, mel, alignment, cache

        steps, _, _, drawn, alignment, _ = tf.while_loop(
            proceed,
            advance,
            (
                tf.constant(0),
                tf.constant(False),
                tf.zeros([1, r, self._n_mels]),
                tf.zeros([1, max_steps * r, self._n_mels]),
                tf.zeros([max_steps, text_size]),
                self.decoder.empty_cache(1, steps=max_steps),
            ),
        )
        _, refined = self.decoder.refine(drawn)
        valid = tf.range(max_steps * r)[None, :, None] < steps * r
        return Generated(tf.where(valid, refined, 0.0), steps, alignment)
