"""The compiled programs of synthesis: few shapes for all texts, voices, batches and lengths of speech.

    crops [P, C, M] ─ encode_voice ─► voice ─┐
    tokens [B, T] ───────────────────────────┴─ encode ─► memory ─┬─► PART_STEPS steps ─► mel ─┐
                                                                  └──── state ◄────────────────┘ until all have ended

Seed, threshold and temperature are inputs of the programs. So one program speaks every text of up to MIN_TOKENS
tokens for as long as caches of CACHE_STEPS steps last, and others speak several such texts at once.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from trainer.config.speech_bounds import MAX_VISIT_S
from trainer.model.attention import StepKeysValues
from trainer.model.decoder import EncoderStates
from trainer.model.reference_encoder import Conditioning
from trainer.model.text_guide import TextGuide
from trainer.model.xtts import XTTS, GenerationState
from trainer.platform.first_calls import FirstCalls

PART_STEPS = 16  # of a call: with 4 frames a step and hop 256 at 22,050 Hz, 0.74 s of speech
MIN_TOKENS = 64  # to which shorter texts are padded; longer ones to 4 times as many, and so on
CACHE_STEPS = 128  # of the first cache, 6 s of speech, then 4 times as many; a step costs what the cache has room for
PROGRAM_ROWS = (1, 4, 16)  # texts that a program speaks at once; fewer texts are padded
BATCH_ROWS = PROGRAM_ROWS[-1]
VOICE_ROWS = 16  # crops of a voice that are encoded at once


class Prompt(NamedTuple):
    """What the model is to speak, in which voice, and how long that may take."""

    tokens: np.ndarray  # [T] int32 of the compact vocabulary
    voice: Conditioning  # of a batch of one
    max_steps: int
    min_steps: int = 0  # before which guided speech does not end
    max_tail_steps: int = 0  # that guided speech may take after the attention has reached the end token


class Sampling(NamedTuple):
    """How the frames are drawn from their distributions, and when speech ends."""

    seed: int = 1
    temperature: float = 1.0  # scale of σ
    stop_threshold: float = 0.5  # speech ends at the first step whose probability of the end exceeds it
    is_guided: bool = True  # kept on its text (trainer/model/text_guide.py)
    guidance: float = 1.0  # scale of classifier-free guidance by the voice; 1: none


class MelPart(NamedTuple):
    """Some steps of the speech of one text."""

    mel: np.ndarray  # [n r, M] float32 in ln magnitude; n is 0 after the end
    alignment: np.ndarray  # [n, T] float32, attention on the text
    has_ended: bool  # True if the end was predicted in this part or before
    is_last: bool = True


class Generator:
    """Speaks prompts with a model, part by part."""

    def __init__(self, model: XTTS, *, xla: bool, frames_per_second: float):
        self._model = model
        self._steps_per_second = frames_per_second / model.config.frames_per_step
        # compiled, encoding would take as long, and seconds to compile
        self._encode_voice = tf.function(model.encode_reference, autograph=False, reduce_retracing=True)
        self._encode = tf.function(model.encode_memory, autograph=False)
        self._first_calls = FirstCalls("speech")
        self._continue = tf.function(self._next_steps, jit_compile=xla or None, autograph=False)

    @property
    def programs(self) -> int:
        """Number of programs for steps so far."""
        return self._continue.experimental_get_tracing_count()

    @functools.cached_property
    def own_voice(self) -> Conditioning:
        """The voice that the model has without a reference."""
        return self.encode_voice([])

    def encode_voice(self, crops: Sequence[np.ndarray]) -> Conditioning:
        """The voice of crops [C, M] in ln magnitude, C at most the model's crop_frames: the mean of their encodings.

        Without crops, it is the voice that the model has without a reference.
        """
        frames = np.array([len(crop) for crop in crops] or [0], np.int32)
        padded = np.zeros([len(frames), self._model.config.crop_frames, self._model.n_mels], np.float32)
        for row, crop in enumerate(crops):
            padded[row, : len(crop)] = crop
        slices = [slice(first, first + VOICE_ROWS) for first in range(0, len(frames), VOICE_ROWS)]
        encoded = [self._encode_voice(tf.constant(padded[part]), tf.constant(frames[part])) for part in slices]
        return Conditioning(*(tf.concat(one, 0) for one in zip(*encoded, strict=True))).mean()

    def parts(self, prompt: Prompt, *, sampling: Sampling) -> Iterator[MelPart]:
        """Speak a prompt until its end is predicted, or its steps are spent."""
        return (part for (part,) in self._parts([prompt], rows=1, sampling=sampling))

    def speak(self, prompts: Sequence[Prompt], *, sampling: Sampling) -> list[MelPart]:
        """Speak up to BATCH_ROWS prompts at once; each one as `parts` would speak it alone."""
        rows = next(rows for rows in PROGRAM_ROWS if rows >= len(prompts))
        parts = self._parts(prompts, rows=rows, sampling=sampling)
        return [join_parts(row) for row in zip(*parts, strict=True)]

    def _parts(self, prompts: Sequence[Prompt], *, rows: int, sampling: Sampling) -> Iterator[list[MelPart]]:
        """The parts of all prompts until all have ended; rows without a prompt have ended before the first step."""
        is_with_guidance, room = sampling.guidance != 1.0, CACHE_STEPS
        memory = self._memory(prompts, rows=rows, is_with_guidance=is_with_guidance)
        settings = (
            tf.constant(sampling.seed, tf.int64),
            tf.constant(sampling.stop_threshold, tf.float32),
            tf.constant(sampling.temperature, tf.float32),
            self._guide(prompts, rows=rows) if sampling.is_guided else None,
            tf.constant(sampling.guidance, tf.float32) if is_with_guidance else None,
            tf.constant([one.max_steps for one in prompts] + [0] * (rows - len(prompts)), tf.int32),
        )
        state = self._model.begin_generation(*memory.text_mask.shape, steps=room, is_with_guidance=is_with_guidance)
        state = state._replace(stopped=tf.range(rows) >= len(prompts))
        for first in range(0, max(one.max_steps for one in prompts), PART_STEPS):
            if first + PART_STEPS > room:
                state, room = _with_room(state, steps=4 * room), 4 * room
            with self._first_calls.cache_programs(
                (*memory.text_mask.shape, room, sampling.is_guided, is_with_guidance)
            ):
                mel, alignment, state = self._continue(memory, state, *settings)
            arrays = (one.numpy() for one in (mel, alignment, state.steps, state.stopped, state.predicted))
            rows_of = zip(zip(*arrays, strict=True), prompts, strict=False)
            parts = [self._part(row, prompt=prompt, first=first) for row, prompt in rows_of]
            yield parts
            if all(part.is_last for part in parts):
                return

    def _part(self, row: tuple[np.ndarray, ...], *, prompt: Prompt, first: int) -> MelPart:
        """The part that one row of the program's outputs holds; step `first` is its first one."""
        mel, alignment, end, stopped, predicted = row
        count = max(0, min(int(end), prompt.max_steps) - first)
        mel = mel[: count * self._model.config.frames_per_step]
        is_within = end <= prompt.max_steps
        return MelPart(
            mel,
            alignment[:count, : len(prompt.tokens)],
            is_last=bool(stopped) or first + PART_STEPS >= prompt.max_steps,
            has_ended=bool(predicted and is_within),
        )

    def _guide(self, prompts: Sequence[Prompt], *, rows: int) -> TextGuide:
        none = [0] * (rows - len(prompts))
        return TextGuide(
            token_counts=tf.constant([len(one.tokens) for one in prompts] + none, tf.int32),
            min_steps=tf.constant([one.min_steps for one in prompts] + none, tf.int32),
            max_visits=tf.constant(round(MAX_VISIT_S * self._steps_per_second), tf.int32),
            max_tail_steps=tf.constant([one.max_tail_steps for one in prompts] + none, tf.int32),
        )

    def _memory(self, prompts: Sequence[Prompt], *, rows: int, is_with_guidance: bool = False) -> EncoderStates:
        """The encoded prompts, padded to `rows` rows; with guidance, behind them the same without a reference."""
        size = padded_size(max(len(one.tokens) for one in prompts))
        padding = [prompts[0]._replace(tokens=prompts[0].tokens[:1])] * (rows - len(prompts))
        given = [*prompts, *padding]
        if is_with_guidance:
            given += [one._replace(voice=self.own_voice) for one in given]
        return self._encode(
            tf.constant(np.stack([np.pad(one.tokens, (0, size - len(one.tokens))) for one in given]), tf.int32),
            tf.constant([len(one.tokens) for one in given]),
            Conditioning(*(tf.concat(values, 0) for values in zip(*(one.voice for one in given), strict=True))),
        )

    def _next_steps(
        self,
        memory: EncoderStates,
        state: GenerationState,
        seed: tf.Tensor,
        threshold: tf.Tensor,
        scale: tf.Tensor,
        guide: TextGuide | None,
        guidance: tf.Tensor | None,
        max_steps: tf.Tensor,
    ) -> tuple[tf.Tensor, tf.Tensor, GenerationState]:
        return self._model.continue_generation(
            memory,
            state,
            steps=PART_STEPS,
            seed=seed,
            stop_threshold=threshold,
            temperature=scale,
            guide=guide,
            guidance=guidance,
            max_steps=max_steps,
        )


def join_parts(parts: Sequence[MelPart]) -> MelPart:
    """The parts of a text, one after another."""
    mel, alignment = (np.concatenate(values) for values in list(zip(*parts, strict=True))[:2])
    return parts[-1]._replace(mel=mel, alignment=alignment)


def padded_size(tokens: int) -> int:
    """The size to which a text of so many tokens is padded."""
    size = MIN_TOKENS
    while size < tokens:
        size *= 4
    return size


def _with_room(state: GenerationState, *, steps: int) -> GenerationState:
    """The state with caches for `steps` steps."""

    def grown(cache: tf.Tensor, *, axis: int) -> tf.Tensor:
        paddings = [[0, steps - cache.shape[axis] if number == axis else 0] for number in range(4)]
        return tf.pad(cache, paddings)

    return state._replace(
        cache=tuple(StepKeysValues(grown(one.keys, axis=3), grown(one.values, axis=2)) for one in state.cache)
    )
