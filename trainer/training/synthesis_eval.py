"""Synthesis evaluation: synthesize a few validation clips without teacher forcing, and measure the result.

With teacher forcing the model sees every true frame before it predicts the next, so the loss does not show whether the
model can generate alone. Every evaluation synthesizes the same clips with the same noise, each with another clip of its
speaker as reference, so that only the model changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from shared.dataset import Dataset
from trainer.config.synthesis_eval_config import SynthesisEvalConfig
from trainer.data.pipeline import Stream
from trainer.data.reference_length import ReferenceLength
from trainer.model.xtts import XTTS, Generated, GenerationState
from trainer.monitoring.samples import Sample, as_int16
from trainer.platform.first_calls import FirstCalls
from trainer.speech.griffin_lim import griffin_lim
from trainer.training.eval_prompts import Clip, EvalPrompts, choose_prompts, reference_crops
from trainer.training.synthesis_metrics import SynthesisMeasures, synthesis_metrics
from trainer.vocoder.vocoder import Vocoder

MAX_LENGTH_RATIO = 1.5  # longest synthesis over the longest clip; longer speech is cut off
ITERATIONS = 32  # of Griffin-Lim: sufficient quality in half the time of the best setting

Batch = dict[str, tf.Tensor]


class SynthesisEval:
    """Collects the clips from the batches of the first validation, then synthesizes them at each evaluation."""

    def __init__(
        self,
        model: XTTS,
        *,
        config: SynthesisEvalConfig,
        dataset: Dataset,
        lengths: ReferenceLength,
        seed: int,
        xla: bool = True,
    ):
        self._measures = SynthesisMeasures(config, spec=dataset.info.contract.features)
        self._model, self._count, self._seed, self._lengths = model, config.clips, seed, lengths
        self._dataset, self._spec = dataset, dataset.info.contract.features
        vocoder = config.vocoder if config.clips else None
        self._vocoder = Vocoder.load(Path(vocoder), spec=self._spec) if vocoder else None
        self._prompts: EvalPrompts | None = None
        self._found: dict[str, Clip] = {}
        self._clips: list[Clip] = []  # to synthesize
        self._inputs: dict[str, Any] = {}  # of the model; empty until all clips are collected
        self._target_audio: dict[str, np.ndarray] = {}
        self._max_steps = 0
        self._compiled = tf.function(self._generate, jit_compile=xla or None, autograph=False)
        self._first_calls = FirstCalls("synthesis of validation")

    @property
    def programs(self) -> int:
        """Number of compiled programs so far."""
        return self._compiled.experimental_get_tracing_count()

    def collect_clips(self, batches: Iterable[Batch], *, stream: Stream) -> Iterator[Batch]:
        """Yield the batches of the validation stream unchanged; the first pass keeps the clips to synthesize."""
        if self._count and self._prompts is None:
            heard = stream.utterance_ids(stream.sampled_rows)
            self._prompts = choose_prompts(
                self._dataset, split=stream.split, heard=heard, count=self._count, seed=self._seed
            )
        for batch in batches:
            if self._prompts is not None and not self._inputs:
                self._keep(batch, names=stream.utterance_ids, needed=self._prompts.utterance_ids)
            yield batch
        if self._prompts is not None and not self._inputs:
            self._prepare(self._prompts)

    def _keep(self, batch: Batch, *, names: Callable[[np.ndarray], list[str]], needed: set[str]) -> None:
        rows = batch["rows"].numpy()
        (places,) = np.nonzero(rows >= 0)
        for place, name in zip(places, names(rows), strict=True):
            if name in needed:
                frames, tokens = int(batch["frames"][place]), int(batch["token_counts"][place])
                mel = batch["mel"][place, :frames].numpy().astype(np.float32)
                self._found[name] = Clip(name, mel, batch["tokens"][place, :tokens].numpy())

    def _prepare(self, prompts: EvalPrompts) -> None:
        """Make one padded batch of all clips; a corrupt clip is absent."""
        clips = [self._found[name] for name in prompts.texts if name in self._found]
        if not clips:
            return
        references = [self._found.get(prompts.references[clip.utterance_id] or "") for clip in clips]
        crop_frames = self._model.config.crop_frames
        crops = reference_crops(clips, references=references, lengths=self._lengths, crop_frames=crop_frames)
        longest = max(len(clip.mel) for clip in clips)
        self._max_steps = math.ceil(MAX_LENGTH_RATIO * longest / self._model.config.frames_per_step)
        self._inputs = {
            "tokens": tf.constant(_pad_stack([clip.tokens for clip in clips])),
            "token_counts": tf.constant([len(clip.tokens) for clip in clips]),
            "crop": tf.constant(_pad_stack(crops)),
            "crop_frames": tf.constant([len(crop) for crop in crops]),
        }
        # in the program, TensorFlow gives the zeros names that are not the same in every process
        self._inputs["state"] = self._model.begin_generation(*self._inputs["tokens"].shape, steps=self._max_steps)
        self._clips, self._found = clips, {}

    def _generate(
        self,
        tokens: tf.Tensor,
        token_counts: tf.Tensor,
        crop: tf.Tensor,
        crop_frames: tf.Tensor,
        state: GenerationState,
    ) -> Generated:
        return self._model.generate(
            tokens,
            token_counts=token_counts,
            crop=crop,
            crop_frames=crop_frames,
            max_steps=self._max_steps,
            seed=self._seed,
            state=state,
        )

    def synthesize(self) -> list[Sample]:
        """Synthesize each clip; return an empty list before the clips are collected."""
        if not self._inputs:
            return []
        with self._first_calls.cache_programs(None):  # all calls have one shape
            mel, steps, stopped, alignment = (one.numpy() for one in self._compiled(**self._inputs))
        r = self._model.config.frames_per_step
        return [
            self._sample(
                clip,
                mel=mel[row, : steps[row] * r],
                alignment=alignment[row, : steps[row], : len(clip.tokens)],
                has_ended=stopped[row],
            )
            for row, clip in enumerate(self._clips)
        ]

    def _sample(self, clip: Clip, *, mel: np.ndarray, alignment: np.ndarray, has_ended: np.ndarray) -> Sample:
        assert self._prompts is not None
        if clip.utterance_id not in self._target_audio:
            self._target_audio[clip.utterance_id] = self._vocode(clip.mel)
        return Sample(
            utterance_id=clip.utterance_id,
            text=self._prompts.texts[clip.utterance_id],
            target=clip.mel,
            spoken=mel,
            alignment=alignment,
            has_ended=has_ended,
            target_sound=self._target_audio[clip.utterance_id],
            spoken_sound=self._vocode(mel),
        )

    def _vocode(self, mel: np.ndarray) -> np.ndarray:
        """Convert a mel [F, M] to audio [S] int16; scaled down if it would clip."""
        heard = np.nan_to_num(mel, nan=self._spec.log_silence)
        if self._vocoder is None:
            return as_int16(griffin_lim(heard, spec=self._spec, iterations=ITERATIONS))
        return as_int16(self._vocoder(heard))

    def measure(self, samples: list[Sample]) -> dict[str, float]:
        """The metrics of synthesized clips, with those that the settings ask for."""
        assert self._prompts is not None
        return synthesis_metrics(samples) | self._measures.measure(samples, languages=self._prompts.languages)


def _pad_stack(values: list[np.ndarray]) -> np.ndarray:
    """Stack arrays to [B, longest, …], zero-padded; the longest counts at least 1."""
    longest = max(1, *map(len, values))
    return np.stack([np.pad(one, [(0, longest - len(one)), *[(0, 0)] * (one.ndim - 1)]) for one in values])
