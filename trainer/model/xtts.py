"""The XTTS model: text and a reference crop of a voice to the mel of that text in that voice."""

from __future__ import annotations

from typing import NamedTuple

import keras
import tensorflow as tf

from trainer.config.model_config import ModelConfig
from trainer.config.model_sizes import SIZES
from trainer.model.decoder import Decoded, Decoder, EncoderStates
from trainer.model.layers import LayerConfig
from trainer.model.reference_encoder import Conditioning, ReferenceEncoder
from trainer.model.rng import RngStream
from trainer.model.text_encoder import TextEncoder

POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}


class Generated(NamedTuple):
    """Output of `XTTS.generate`; N is the allowed number of steps."""

    mel: tf.Tensor  # [B, N r, M] ln magnitude, silence past the end
    steps: tf.Tensor  # [B] int32, decoder steps until the end
    stopped: tf.Tensor  # [B] bool, True if the end was predicted, False if the allowed steps ran out
    alignment: tf.Tensor  # as in Decoded, [B, N, T], zeros past the end


class XTTS(keras.Model):
    """Text encoder, reference encoder and decoder."""

    def __init__(self, config: ModelConfig, *, vocabulary_size: int, n_mels: int, log_silence: float):
        """`log_silence` is the smallest value of a mel, in ln magnitude."""
        super().__init__(name="xtts")
        size = SIZES[config.size]
        layer_config = LayerConfig(
            config.dropout,
            keras.DTypePolicy(POLICIES[config.precision]),
            rotary=config.positions == "rotary",
            rematerialise=config.rematerialise,
        )
        self.config, self._n_mels, self._log_silence = config, n_mels, log_silence
        self.text_encoder = TextEncoder(size.text_encoder, layer_config, vocabulary_size=vocabulary_size)
        self.reference_encoder = ReferenceEncoder(size, layer_config, style_tokens=config.style_tokens)
        self.decoder = Decoder(size, layer_config, n_mels=n_mels, frames_per_step=config.frames_per_step)
        self._make_weights()

    def _make_weights(self) -> None:
        """Build every layer by running it on the smallest input."""
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
        noise: RngStream | None = None,
    ) -> Decoded:
        """Decode with teacher forcing.

        Args:
            mel: [B, F, M] in ln magnitude, F a multiple of r.
            tokens, token_counts: [B, T] int32 of the compact vocabulary, and [B].
            crop, crop_frames: [B, C, M] reference in ln magnitude, and [B] its frames; 0: no reference.
            noise: random numbers of dropout and sampling; None: nothing is random.
        """
        memory = self.encode_memory(tokens, token_counts, self.encode_reference(crop, crop_frames, noise), noise)
        return self.decoder(self.decoder.standardise(mel), memory, noise=noise)

    def encode_reference(self, crop: tf.Tensor, crop_frames: tf.Tensor, noise: RngStream | None = None) -> Conditioning:
        """Encode the voice of a crop [B, C, M] in ln magnitude."""
        return self.reference_encoder(self.decoder.standardise(crop), crop_frames, noise=noise)

    def speaker_embedding(self, mel: tf.Tensor, frames: tf.Tensor) -> tf.Tensor:
        """The speaker embedding [B, S] of a mel [B, C, M] in ln magnitude, without gradients to the encoder."""
        frozen = [(variable, tf.stop_gradient(variable.value)) for variable in self.reference_encoder.variables]
        with keras.StatelessScope(state_mapping=frozen):
            return self.reference_encoder(self.decoder.standardise(mel), frames).speaker

    def encode_memory(
        self, tokens: tf.Tensor, token_counts: tf.Tensor, voice: Conditioning, noise: RngStream | None = None
    ) -> EncoderStates:
        """The encoder outputs that the decoder attends to, for a text in a voice."""
        text = self.text_encoder(tokens, token_counts, noise=noise)
        return self.decoder.encode_memory(text, token_counts, voice.latents, voice.speaker)

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
        """Synthesise texts [B, T] in the voices of crops [B, C, M], each until its stop is predicted.

        The output for a text depends on the seed, and not on the other rows of the batch.
        """
        memory = self.encode_memory(tokens, token_counts, self.encode_reference(crop, crop_frames))
        r, batch = self.config.frames_per_step, tokens.shape[0]

        def is_running(position: tf.Tensor, steps: tf.Tensor, stopped: tf.Tensor, *_: object) -> tf.Tensor:
            return (position < max_steps) & ~tf.reduce_all(stopped)

        def advance(position, steps, stopped, previous, z, alignment, cache):
            noise = RngStream(seed=seed, step=position, rows_alike=True)
            step, cache = self.decoder.step(previous, memory, cache, position, noise)
            new = self.decoder.sample(step.mean, step.log_variance, noise=noise)
            is_current = (tf.range(max_steps) == position)[None, :, None]
            z = tf.where(tf.repeat(is_current, r, axis=1), tf.tile(new, [1, max_steps, 1]), z)
            alignment = tf.where(is_current, step.alignment, alignment)
            steps = tf.where(stopped, steps, position + 1)
            stopped |= tf.sigmoid(step.stop_logits[:, 0]) > stop_threshold
            return position + 1, steps, stopped, self.decoder.latent_mlp(new), z, alignment, cache

        _, steps, stopped, _, z, alignment, _ = tf.while_loop(
            is_running,
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
        mel = self.decoder.unstandardise(self.decoder.postnet(z)[1])
        return Generated(
            tf.where(tf.sequence_mask(steps * r, max_steps * r)[:, :, None], mel, self._log_silence),
            steps,
            stopped,
            tf.where(tf.sequence_mask(steps, max_steps)[:, :, None], alignment, 0.0),
        )
