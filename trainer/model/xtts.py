"""XTTS: a text and a crop of a voice to the mel of that text in that voice."""

from __future__ import annotations

from typing import NamedTuple

import keras
import tensorflow as tf

from trainer.config.model_config import ModelConfig
from trainer.config.model_sizes import SIZES
from trainer.model.decoder import Decoded, Decoder, Memory
from trainer.model.layers import Recipe
from trainer.model.reference_encoder import AudioEncoder, Conditioning
from trainer.model.rng import Noise
from trainer.model.text_encoder import TextEncoder

POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}


class Generated(NamedTuple):
    """Free-running output; N is the greatest number of steps that was allowed."""

    mel: tf.Tensor  # [B, N r, M] ln magnitude, silence past the end
    steps: tf.Tensor  # [B] int32, decoder steps up to the end
    stopped: tf.Tensor  # [B] bool, whether that end was predicted; where not, no more steps were allowed
    alignment: tf.Tensor  # as Decoded's, [B, N, T], zeros past the end


class XTTS(keras.Model):
    """Text encoder, audio encoder and decoder."""

    def __init__(self, config: ModelConfig, *, vocabulary_size: int, n_mels: int, log_silence: float):
        """`log_silence` is the least value of a mel, in ln magnitude."""
        super().__init__(name="xtts")
        size = SIZES[config.size]
        recipe = Recipe(
            config.dropout,
            keras.DTypePolicy(POLICIES[config.precision]),
            rotary=config.positions == "rotary",
            rematerialise=config.rematerialise,
        )
        self.config, self._n_mels, self._log_silence = config, n_mels, log_silence
        self.text_encoder = TextEncoder(size.text_encoder, recipe, vocabulary_size=vocabulary_size)
        self.audio_encoder = AudioEncoder(size, recipe, style_tokens=config.style_tokens)
        self.decoder = Decoder(size, recipe, n_mels=n_mels, frames_per_step=config.frames_per_step)
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
            mel: [B, F, M] in ln magnitude, F a multiple of r.
            tokens, token_counts: [B, T] int32 of the compact vocabulary and [B].
            crop, crop_frames: [B, C, M] ln magnitude of the voice and [B]; 0 frames are no reference.
            noise: of dropout and sampling; without it nothing is random.
        """
        memory = self.remember(tokens, token_counts, self.listen(crop, crop_frames, noise), noise)
        return self.decoder(self.decoder.standardise(mel), memory, noise=noise)

    def listen(self, crop: tf.Tensor, crop_frames: tf.Tensor, noise: Noise | None = None) -> Conditioning:
        """What a crop [B, C, M] in ln magnitude says of its voice."""
        return self.audio_encoder(self.decoder.standardise(crop), crop_frames, noise=noise)

    def recognise(self, mel: tf.Tensor, frames: tf.Tensor) -> tf.Tensor:
        """The speaker embedding [B, S] of a mel [B, C, M] in ln magnitude; the encoder learns nothing from it."""
        frozen = [(variable, tf.stop_gradient(variable.value)) for variable in self.audio_encoder.variables]
        with keras.StatelessScope(state_mapping=frozen):
            return self.audio_encoder(self.decoder.standardise(mel), frames).speaker

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
        token_counts: tf.Tensor,
        crop: tf.Tensor,
        crop_frames: tf.Tensor,
        max_steps: int,
        seed: tf.Tensor | int,
        stop_threshold: tf.Tensor | float = 0.5,
    ) -> Generated:
        """Speak texts [B, T] in the voices of crops [B, C, M], each until its stop is predicted.

        What a clip sounds like depends on the seed, not on the other clips of the batch nor on its place among them.
        """
        memory = self.remember(tokens, token_counts, self.listen(crop, crop_frames))
        r, batch = self.config.frames_per_step, tokens.shape[0]

        def proceed(position: tf.Tensor, steps: tf.Tensor, stopped: tf.Tensor, *_: object) -> tf.Tensor:
            return (position < max_steps) & ~tf.reduce_all(stopped)

        def advance(position, steps, stopped, previous, drawn, alignment, cache):
            noise = Noise(seed=seed, step=position, rows_alike=True)
            step, cache = self.decoder.step(previous, memory, cache, position, noise)
            new = self.decoder.draw(step.mean, step.log_variance, noise=noise)
            here = (tf.range(max_steps) == position)[None, :, None]
            drawn = tf.where(tf.repeat(here, r, axis=1), tf.tile(new, [1, max_steps, 1]), drawn)
            alignment = tf.where(here, step.alignment, alignment)
            steps = tf.where(stopped, steps, position + 1)
            stopped |= tf.sigmoid(step.stop_logits[:, 0]) > stop_threshold
            return position + 1, steps, stopped, self.decoder.sharpen(new), drawn, alignment, cache

        _, steps, stopped, _, drawn, alignment, _ = tf.while_loop(
            proceed,
            advance,
            (
                tf.constant(0),
                tf.zeros([batch], tf.int32),
                tf.zeros([batch], tf.bool),
                tf.zeros([batch, r, self._n_mels]),
                tf.zeros([batch, max_steps * r, self._n_mels]),
                tf.zeros([batch, max_steps, tokens.shape[1]]),
                self.decoder.empty_cache(batch, steps=max_steps),
            ),
        )
        mel = self.decoder.unstandardise(self.decoder.refine(drawn)[1])
        return Generated(
            tf.where(tf.sequence_mask(steps * r, max_steps * r)[:, :, None], mel, self._log_silence),
            steps,
            stopped,
            tf.where(tf.sequence_mask(steps, max_steps)[:, :, None], alignment, 0.0),
        )
