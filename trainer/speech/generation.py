"""The compiled programs of synthesis: few shapes for all texts, voices and lengths of speech.

    tokens [1, T], crop [1, C, M] ─ encode ─► memory ─┬─► PART_STEPS steps ─► mel ─┐
                                                      └──── state ◄────────────────┘ until the stop is predicted

Seed, threshold and temperature are inputs of the programs. So one program speaks every text of up to MIN_TOKENS
tokens for as long as caches of CACHE_STEPS steps last.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from trainer.model.decoder import EncoderStates
from trainer.model.layers import KeysValues
from trainer.model.xtts import XTTS, GenerationState

PART_STEPS = 16  # of a call: with 4 frames a step and hop 256 at 22,050 Hz, 0.74 s of speech
MIN_TOKENS = 64  # to which a shorter text is padded; a longer one to 4 times as many, and so on
CACHE_STEPS = 512  # of the first cache, then 4 times as many, and so on


class Prompt(NamedTuple):
    """What the model is to speak, and in which voice."""

    tokens: np.ndarray  # [T] int32 of the compact vocabulary
    crop: np.ndarray  # [C, M] float32 in ln magnitude, C at most the model's crop_frames; C = 0: no reference


class Sampling(NamedTuple):
    """How the frames are drawn from their distributions, and when speech ends."""

    seed: int = 1
    temperature: float = 1.0  # scale of σ
    stop_threshold: float = 0.5  # speech ends at the first step whose probability of the end exceeds it


class MelPart(NamedTuple):
    """Some steps of speech."""

    mel: np.ndarray  # [n r, M] float32 in ln magnitude
    alignment: np.ndarray  # [n, T] float32, attention on the text
    has_ended: bool  # True if the end was predicted in this part


class Generator:
    """Speaks prompts with a model, part by part."""

    def __init__(self, model: XTTS, *, xla: bool):
        self._model = model
        # compiled, encoding would take as long, and seconds to compile
        self._encode = tf.function(self._encode_prompt, autograph=False)
        self._continue = tf.function(self._next_steps, jit_compile=xla or None, autograph=False)

    @property
    def programs(self) -> int:
        """Number of programs for steps so far."""
        return self._continue.experimental_get_tracing_count()

    def parts(self, prompt: Prompt, *, sampling: Sampling, max_steps: int) -> Iterator[MelPart]:
        """Speak a prompt until its end is predicted, for at most `max_steps` steps."""
        r, memory = self._model.config.frames_per_step, self._memory(prompt)
        settings = (
            tf.constant(sampling.seed, tf.int64),
            tf.constant(sampling.stop_threshold),
            tf.constant(sampling.temperature),
        )
        room = CACHE_STEPS
        state = self._model.begin_generation(1, steps=room)
        for first in range(0, max_steps, PART_STEPS):
            if first + PART_STEPS > room:
                state, room = _with_room(state, steps=4 * room), 4 * room
            mel, alignment, state = self._continue(memory, state, *settings)
            end = int(state.steps[0])
            count = min(end, max_steps) - first
            has_ended = bool(state.stopped[0]) and end <= max_steps
            yield MelPart(mel.numpy()[0, : count * r], alignment.numpy()[0, :count, : len(prompt.tokens)], has_ended)
            if has_ended:
                return

    def _memory(self, prompt: Prompt) -> EncoderStates:
        size = padded_size(len(prompt.tokens))
        limit, frames = self._model.config.crop_frames, len(prompt.crop)
        return self._encode(
            tf.constant(np.pad(prompt.tokens, (0, size - len(prompt.tokens)))[None], tf.int32),
            tf.constant([len(prompt.tokens)]),
            tf.constant(np.pad(prompt.crop, [(0, limit - frames), (0, 0)])[None], tf.float32),
            tf.constant([frames]),
        )

    def _encode_prompt(
        self, tokens: tf.Tensor, token_counts: tf.Tensor, crop: tf.Tensor, crop_frames: tf.Tensor
    ) -> EncoderStates:
        voice = self._model.encode_reference(crop, crop_frames)
        return self._model.encode_memory(tokens, token_counts, voice)

    def _next_steps(
        self, memory: EncoderStates, state: GenerationState, seed: tf.Tensor, threshold: tf.Tensor, scale: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, GenerationState]:
        return self._model.continue_generation(
            memory, state, steps=PART_STEPS, seed=seed, stop_threshold=threshold, temperature=scale
        )


def padded_size(tokens: int) -> int:
    """The size to which a text of so many tokens is padded."""
    size = MIN_TOKENS
    while size < tokens:
        size *= 4
    return size


def _with_room(state: GenerationState, *, steps: int) -> GenerationState:
    """The state with caches for `steps` steps."""

    def grown(cache: tf.Tensor) -> tf.Tensor:
        return tf.pad(cache, [[0, 0], [0, steps - cache.shape[1]], [0, 0], [0, 0]])

    return state._replace(cache=tuple(KeysValues(grown(one.keys), grown(one.values)) for one in state.cache))
