"""Free-running validation: a few clips of the validation split are spoken as a listener would hear them.

Teacher forcing shows the model every true frame before it asks for the next, and so does not tell whether it would
find its way alone. The same clips are spoken with the same noise each time, so that what changes is the model; each in
the voice of another clip of its speaker.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import tensorflow as tf

from shared.dataset import Dataset
from shared.features import FeatureSpec
from trainer.config.synthesis_eval_config import SynthesisEvalConfig
from trainer.data.pipeline import Stream
from trainer.data.reference_length import Lengths
from trainer.model.xtts import XTTS, Generated
from trainer.monitoring.samples import Sample
from trainer.speech.griffin_lim import griffin_lim
from trainer.training.dtw import dtw_distance_db
from trainer.training.eval_prompts import Clip, EvalPrompts, choose_prompts, reference_crops

OVERLONG = 1.5  # speech may become so much longer than the longest clip, and is cut off then
MAX_MOVE = 2  # tokens in a step of the decoder
ITERATIONS = 32  # of Griffin-Lim: enough to judge by, half the time of the best

Batch = dict[str, tf.Tensor]


class SynthesisEval:
    """Finds the clips while a validation streams by, then speaks them."""

    def __init__(
        self,
        model: XTTS,
        *,
        config: SynthesisEvalConfig,
        dataset: Dataset,
        lengths: Lengths,
        seed: int,
        xla: bool = True,
    ):
        self._model, self._count, self._seed, self._lengths = model, config.clips, seed, lengths
        self._dataset, self._spec = dataset, dataset.info.contract.features
        self._prompts: EvalPrompts | None = None
        self._found: dict[str, Clip] = {}
        self._clips: list[Clip] = []  # that are spoken
        self._given: dict[str, tf.Tensor] = {}  # to the model; empty until all clips are known
        self._sounds: dict[str, np.ndarray] = {}
        self._max_steps = 0
        self._compiled = tf.function(self._generate, jit_compile=xla or None, autograph=False)

    @property
    def programs(self) -> int:
        """Programs made so far."""
        return self._compiled.experimental_get_tracing_count()

    def collect_clips(self, batches: Iterable[Batch], *, stream: Stream) -> Iterator[Batch]:
        """The batches of the split's stream, of which some clips are kept at their first passing."""
        if self._count and self._prompts is None:
            heard = stream.utterance_ids(stream.heard)
            self._prompts = choose_prompts(self._dataset, heard=heard, count=self._count, seed=self._seed)
        for batch in batches:
            if self._prompts is not None and not self._given:
                self._keep(batch, names=stream.utterance_ids, wanted=self._prompts.utterance_ids)
            yield batch
        if self._prompts is not None and not self._given:
            self._prepare(self._prompts)

    def _keep(self, batch: Batch, *, names: Callable[[np.ndarray], list[str]], wanted: set[str]) -> None:
        rows = batch["rows"].numpy()
        (places,) = np.nonzero(rows >= 0)
        for place, name in zip(places, names(rows), strict=True):
            if name in wanted:
                frames, tokens = int(batch["frames"][place]), int(batch["token_counts"][place])
                mel = batch["mel"][place, :frames].numpy().astype(np.float32)
                self._found[name] = Clip(name, mel, batch["tokens"][place, :tokens].numpy())

    def _prepare(self, choice: EvalPrompts) -> None:
        """Tensors of one shape for all clips; a corrupt one did not come by."""
        clips = [self._found[name] for name in choice.texts if name in self._found]
        if not clips:
            return
        references = [self._found.get(choice.references[clip.utterance_id] or "") for clip in clips]
        most = self._model.config.crop_frames
        crops = reference_crops(clips, references=references, lengths=self._lengths, crop_frames=most)
        longest = max(len(clip.mel) for clip in clips)
        self._max_steps = math.ceil(OVERLONG * longest / self._model.config.frames_per_step)
        self._given = {
            "tokens": tf.constant(_stacked([clip.tokens for clip in clips])),
            "token_counts": tf.constant([len(clip.tokens) for clip in clips]),
            "crop": tf.constant(_stacked(crops)),
            "crop_frames": tf.constant([len(crop) for crop in crops]),
        }
        self._clips, self._found = clips, {}

    def _generate(
        self, tokens: tf.Tensor, token_counts: tf.Tensor, crop: tf.Tensor, crop_frames: tf.Tensor
    ) -> Generated:
        return self._model.generate(
            tokens,
            token_counts=token_counts,
            crop=crop,
            crop_frames=crop_frames,
            max_steps=self._max_steps,
            seed=self._seed,
        )

    def synthesize(self) -> list[Sample]:
        """Each clip as the model says it now; none before all are known."""
        if not self._given:
            return []
        mel, steps, stopped, alignment = (one.numpy() for one in self._compiled(**self._given))
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
        if clip.utterance_id not in self._sounds:
            self._sounds[clip.utterance_id] = mel_to_audio(clip.mel, spec=self._spec)
        return Sample(
            utterance_id=clip.utterance_id,
            text=self._prompts.texts[clip.utterance_id],
            target=clip.mel,
            spoken=mel,
            alignment=alignment,
            has_ended=has_ended,
            target_sound=self._sounds[clip.utterance_id],
            spoken_sound=mel_to_audio(mel, spec=self._spec),
        )


def mel_to_audio(mel: np.ndarray, *, spec: FeatureSpec) -> np.ndarray:
    """A mel [F, M] through Griffin-Lim: [S] int16, scaled down where it would clip."""
    signal = griffin_lim(np.nan_to_num(mel, nan=spec.log_silence), spec=spec, iterations=ITERATIONS)
    peak = max(1.0, float(np.abs(signal).max(initial=0.0)))
    return np.round(signal / peak * 32767.0).astype(np.int16)


def synthesis_metrics(samples: list[Sample]) -> dict[str, float]:
    """How well clips were spoken, as means over them, by name."""
    each = [_figures(sample) for sample in samples]
    return {f"free_{name}": float(np.mean([figures[name] for figures in each])) for name in each[0]}


def _figures(sample: Sample) -> dict[str, float]:
    return {
        "length_error": abs(len(sample.spoken) / len(sample.target) - 1.0),
        "mel_distance_db": dtw_distance_db(sample.spoken, sample.target),
        "moves": monotonic_share(sample.alignment),
        "ended": float(sample.has_ended),
    }


def monotonic_share(alignment: np.ndarray) -> float:
    """Share of the steps of an alignment [N, T] whose most attended token is 0 to 2 after that of the step before."""
    moves = np.diff(alignment.argmax(1))
    return float(((moves >= 0) & (moves <= MAX_MOVE)).mean()) if len(moves) else 1.0


def _stacked(values: list[np.ndarray]) -> np.ndarray:
    """[B, longest, ...], zeros after the end of each; at least one place."""
    longest = max(1, *map(len, values))
    return np.stack([np.pad(one, [(0, longest - len(one)), *[(0, 0)] * (one.ndim - 1)]) for one in values])
