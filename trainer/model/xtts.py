"""The XTTS model: text and a reference crop of a voice to the mel of that text in that voice."""

from __future__ import annotations

from typing import NamedTuple

import keras
import tensorflow as tf

from trainer.config.model_config import ModelConfig
from trainer.config.model_sizes import SIZES
from trainer.model.attention import StepKeysValues
from trainer.model.decoder import Decoded, Decoder, EncoderStates
from trainer.model.layers import LayerConfig
from trainer.model.reference_encoder import Conditioning, ReferenceEncoder
from trainer.model.rng import RngStream
from trainer.model.text_encoder import TextEncoder
from trainer.model.text_guide import GuideState, TextGuide, attention_bias, begin_guide, follow, may_end, must_end

POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}


class Generated(NamedTuple):
    """Output of `XTTS.generate`; N is the allowed number of steps."""

    mel: tf.Tensor  # [B, N r, M] ln magnitude, silence past the end
    steps: tf.Tensor  # [B] int32, decoder steps until the end
    stopped: tf.Tensor  # [B] bool, True if the end was predicted, False if the allowed steps ran out
    alignment: tf.Tensor  # as in Decoded, [B, N, T], zeros past the end


class GenerationState(NamedTuple):
    """State of a synthesis between two steps; N is the number of steps that its caches have room for."""

    position: tf.Tensor  # [] int32, steps so far
    steps: tf.Tensor  # [B] int32, steps so far, or until the end
    stopped: tf.Tensor  # [B] bool, True if the end was predicted, or the guide ended the speech
    predicted: tf.Tensor  # [B] bool, True if the end was predicted
    previous: tf.Tensor  # [B, r, M] the last frames, standardised
    guide: GuideState  # of a synthesis that a guide keeps on its text
    cache: tuple[StepKeysValues, ...]  # of the decoder's blocks
    postnet_cache: tuple[tf.Tensor, ...]  # of the post-net's convolutions


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
        self.config, self.n_mels, self._log_silence = config, n_mels, log_silence
        self.text_encoder = TextEncoder(size.text_encoder, layer_config, vocabulary_size=vocabulary_size)
        self.reference_encoder = ReferenceEncoder(size, layer_config, n_mels=n_mels, style_tokens=config.style_tokens)
        self.decoder = Decoder(size, layer_config, n_mels=n_mels, frames_per_step=config.frames_per_step)
        # the names of weights in checkpoints have this scope, except most of the decoder's
        with keras.name_scope(self.name):
            self.text_encoder.build()
            self.reference_encoder.build()
            self.decoder.build_projections()
        self.decoder.build()
        self.built = True

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
        """The speaker embedding [B, S] of a mel [B, C, M] in ln magnitude."""
        return self.encode_reference(mel, frames).speaker

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
        state: GenerationState | None = None,
    ) -> Generated:
        """Synthesise texts [B, T] in the voices of crops [B, C, M], each until its stop is predicted.

        The output for a text depends on the seed, and not on the other rows of the batch.

        Args:
            state: that before the first step, if it was made outside of the program.
        """
        memory = self.encode_memory(tokens, token_counts, self.encode_reference(crop, crop_frames))
        return self.generate_from(memory, max_steps=max_steps, seed=seed, stop_threshold=stop_threshold, state=state)

    def generate_from(
        self,
        memory: EncoderStates,
        *,
        max_steps: int,
        seed: tf.Tensor | int,
        stop_threshold: tf.Tensor | float = 0.5,
        state: GenerationState | None = None,
    ) -> Generated:
        """Synthesise encoded texts in their voices, as `generate` does."""
        if state is None:
            state = self.begin_generation(*memory.text_mask.shape, steps=max_steps)
        mel, alignment, state = self.continue_generation(
            memory, state, steps=max_steps, seed=seed, stop_threshold=stop_threshold
        )
        return Generated(mel, state.steps, state.stopped, alignment)

    def begin_generation(
        self, rows: int, tokens: int, *, steps: int, is_with_guidance: bool = False
    ) -> GenerationState:
        """The state before the first step, with caches for `steps` steps.

        Args:
            rows: of the encoded texts; with guidance twice the number of texts.
            tokens: length of the padded texts.
        """
        batch = rows // 2 if is_with_guidance else rows
        return GenerationState(
            position=tf.constant(0),
            steps=tf.zeros([batch], tf.int32),
            stopped=tf.zeros([batch], tf.bool),
            predicted=tf.zeros([batch], tf.bool),
            previous=tf.zeros([batch, self.config.frames_per_step, self.n_mels]),
            guide=begin_guide(batch, tokens=tokens),
            cache=self.decoder.empty_cache(rows, steps=steps),
            postnet_cache=self.decoder.empty_postnet_cache(batch),
        )

    def continue_generation(
        self,
        memory: EncoderStates,
        state: GenerationState,
        *,
        steps: int,
        seed: tf.Tensor | int,
        stop_threshold: tf.Tensor | float = 0.5,
        temperature: tf.Tensor | float = 1.0,
        guide: TextGuide | None = None,
        guidance: tf.Tensor | None = None,
        max_steps: tf.Tensor | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor, GenerationState]:
        """Synthesise the next `steps` steps of each text, or fewer if every text has ended.

        The caches of `state` must have room for the steps. Parts of any sizes, one after another, give what one part
        of all steps gives.

        Args:
            temperature: scale of σ; 0 is the mean of each frame's distribution.
            guide: keeps the speech on its text; None: attention and end are the model's own.
            guidance: scale of classifier-free guidance (Ho & Salimans, 2022) by the voice, []; `memory` then has 2 B
                rows, B texts in their voices and the same texts without a reference. None: no guidance.
            max_steps: [B] int32, steps of all parts together, at which a text ends; None: no bound.

        Returns:
            The mel [B, steps r, M] in ln magnitude, silence past the end; the alignment [B, steps, T], zeros past the
            end; and the state after these steps.
        """
        r, batch, first = self.config.frames_per_step, tf.shape(state.steps)[0], state.position
        text_size, memory = memory.text_mask.shape[1], memory.for_steps()

        def is_running(index: tf.Tensor, state: GenerationState, *_: object) -> tf.Tensor:
            return (index < steps) & ~tf.reduce_all(state.stopped)

        def advance(index, state, z, alignment):
            noise = RngStream(seed=seed, step=state.position, rows_alike=True)
            bias = None if guide is None else attention_bias(state.guide, guide)
            previous = state.previous
            if guidance is not None:
                previous = tf.tile(previous, [2, 1, 1])
                bias = None if bias is None else tf.tile(bias, [2, 1])
            step, cache = self.decoder.step(previous, memory, state.cache, state.position, noise, text_bias=bias)
            step = step if guidance is None else step.with_guidance(guidance)
            new = self.decoder.sample(step.mean, step.log_variance, noise=noise, temperature=temperature)
            is_current = (tf.range(steps) == index)[None, :, None]
            z = tf.where(tf.repeat(is_current, r, axis=1), tf.tile(new, [1, steps, 1]), z)
            alignment = tf.where(is_current, step.alignment, alignment)
            ends = predicted = tf.sigmoid(step.stop_logits[:, 0]) > stop_threshold
            guided = state.guide
            if guide is not None:
                guided = follow(guided, guide, step.alignment[:, 0])
                predicted &= may_end(guided, guide, steps=state.position + 1)
                ends = predicted | must_end(guided, guide, steps=state.position + 1)
            if max_steps is not None:
                ends |= state.position + 1 >= max_steps
            state = state._replace(
                position=state.position + 1,
                steps=tf.where(state.stopped, state.steps, state.position + 1),
                stopped=state.stopped | ends,
                predicted=tf.where(state.stopped, state.predicted, predicted),
                guide=guided,
                previous=self.decoder.latent_mlp(new),
                cache=cache,
            )
            return index + 1, state, z, alignment

        _, state, z, alignment = tf.while_loop(
            is_running,
            advance,
            (
                tf.constant(0),
                state,
                tf.zeros([batch, steps * r, self.n_mels]),
                tf.zeros([batch, steps, text_size]),
            ),
        )
        refined, postnet_cache = self.decoder.postnet_part(z, state.postnet_cache)
        spoken = state.steps - first  # of these steps; not above zero for a text that had ended before
        return (
            tf.where(
                tf.sequence_mask(spoken * r, steps * r)[:, :, None],
                self.decoder.unstandardise(refined),
                self._log_silence,
            ),
            tf.where(tf.sequence_mask(spoken, steps)[:, :, None], alignment, 0.0),
            state._replace(postnet_cache=postnet_cache),
        )
