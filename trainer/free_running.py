"""Free-running validation: a few clips of the validation split are spoken as a listener would hear them.

Teacher forcing shows the model every true frame before it asks for the next, and so does not tell whether it would
find its way alone. The same clips are spoken with the same noise each time, so that what changes is the model.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pydantic
import tensorflow as tf

from shared.config import Config
from shared.dataset import Dataset
from shared.features import FeatureSpec
from shared.order import key
from trainer.model.xtts import XTTS, Generated
from trainer.samples import Sample
from trainer.speech.griffin_lim import griffin_lim
from trainer.warping import warped_distance_db

OVERLONG = 1.5  # speech may become so much longer than the longest clip, and is cut off then
MAX_MOVE = 2  # tokens in a step of the decoder
ITERATIONS = 32  # of Griffin-Lim: enough to judge by, half the time of the best

Batch = dict[str, tf.Tensor]


class FreeRunningConfig(Config):
    """What is spoken at validation."""

    clips: int = pydantic.Field(4, ge=0, le=16)  # of the validation split; with 0 nothing is spoken
    every: int = pydantic.Field(1, ge=1)  # validations


class Clip(NamedTuple):
    """One that is spoken."""

    utterance_id: str
    mel: np.ndarray  # [F, M] ln magnitude
    tokens: np.ndarray  # [T] int32


class FreeRunning:
    """Finds the clips while a validation streams by, then speaks them."""

    def __init__(self, model: XTTS, *, config: FreeRunningConfig, dataset: Dataset, seed: int):
        self._model, self._count, self._seed = model, config.clips, seed
        self._dataset, self._spec = dataset, dataset.info.contract.features
        self._found: dict[str, Clip] = {}
        self._given: dict[str, tf.Tensor] = {}  # to the model; empty until all clips are known
        self._texts: dict[str, str] = {}
        self._sounds: dict[str, np.ndarray] = {}
        self._max_steps = 0
        self._compiled = tf.function(self._generate, jit_compile=True, autograph=False)

    @property
    def programs(self) -> int:
        """XLA programs compiled so far."""
        return self._compiled.experimental_get_tracing_count()

    def overhear(self, batches: Iterable[Batch], *, names: Callable[[np.ndarray], list[str]]) -> Iterator[Batch]:
        """The batches of the split; `names` tells the utterances of rows.

        The clips with the least keys are kept, which do not depend on the order of batches.
        """
        for batch in batches:
            if self._count and not self._given:
                self._consider(batch, names=names)
            yield batch
        if self._found and not self._given:
            self._prepare()

    def _consider(self, batch: Batch, *, names: Callable[[np.ndarray], list[str]]) -> None:
        rows = batch["rows"].numpy()
        (places,) = np.nonzero(rows >= 0)
        for place, name in zip(places, names(rows), strict=True):
            kept = heapq.nsmallest(self._count, {*self._found, name}, key=self._key)
            if name in kept and name not in self._found:
                frames, tokens = int(batch["frames"][place]), int(batch["token_counts"][place])
                mel = batch["mel"][place, :frames].numpy().astype(np.float32)
                self._found[name] = Clip(name, mel, batch["tokens"][place, :tokens].numpy())
            self._found = {one: self._found[one] for one in kept}

    def _key(self, name: str) -> int:
        return key(f"{self._seed}/{name}", purpose="free running")

    def _prepare(self) -> None:
        """Tensors of one shape for all; each clip's reference is its first part, as long for one as for another, since
        else it would tell how long to speak."""
        clips, r = list(self._found.values()), self._model.config.frames_per_step
        shared_frames = min(self._model.config.crop_frames, *(len(clip.mel) // 2 for clip in clips))
        crops = [clip.mel[:shared_frames] for clip in clips]
        self._max_steps = math.ceil(OVERLONG * max(len(clip.mel) for clip in clips) / r)
        self._given = {
            "tokens": tf.constant(_stacked([clip.tokens for clip in clips])),
            "token_counts": tf.constant([len(clip.tokens) for clip in clips]),
            "crop": tf.constant(_stacked(crops)),
            "crop_frames": tf.constant([len(crop) for crop in crops]),
        }
        self._texts = _texts(self._dataset, names=list(self._found))

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

    def speak(self) -> list[Sample]:
        """Each clip as the model says it now; none before all are known."""
        if not self._given:
            return []
        mel, steps, alignment = (one.numpy() for one in self._compiled(**self._given))
        r = self._model.config.frames_per_step
        return [
            self._sample(
                clip, mel=mel[row, : steps[row] * r], alignment=alignment[row, : steps[row], : len(clip.tokens)]
            )
            for row, clip in enumerate(self._found.values())
        ]

    def _sample(self, clip: Clip, *, mel: np.ndarray, alignment: np.ndarray) -> Sample:
        if clip.utterance_id not in self._sounds:
            self._sounds[clip.utterance_id] = sound_of(clip.mel, spec=self._spec)
        return Sample(
            utterance_id=clip.utterance_id,
            text=self._texts[clip.utterance_id],
            target=clip.mel,
            spoken=mel,
            alignment=alignment,
            has_ended=np.array(len(alignment) < self._max_steps),
            target_sound=self._sounds[clip.utterance_id],
            spoken_sound=sound_of(mel, spec=self._spec),
        )


def sound_of(mel: np.ndarray, *, spec: FeatureSpec) -> np.ndarray:
    """A mel [F, M] through Griffin-Lim: [S] int16, scaled down where it would clip."""
    signal = griffin_lim(np.nan_to_num(mel, nan=spec.log_silence), spec=spec, iterations=ITERATIONS)
    peak = max(1.0, float(np.abs(signal).max(initial=0.0)))
    return np.round(signal / peak * 32767.0).astype(np.int16)


def judge(samples: list[Sample]) -> dict[str, float]:
    """How well clips were spoken, as means over them, by name."""
    each = [_figures(sample) for sample in samples]
    return {f"free_{name}": float(np.mean([figures[name] for figures in each])) for name in each[0]}


def _figures(sample: Sample) -> dict[str, float]:
    return {
        "length_error": abs(len(sample.spoken) / len(sample.target) - 1.0),
        "mel_distance_db": warped_distance_db(sample.spoken, sample.target),
        "moves": forward_share(sample.alignment),
        "ended": float(sample.has_ended),
    }


def forward_share(alignment: np.ndarray) -> float:
    """Share of the steps of an alignment [N, T] whose most attended token is 0 to 2 after that of the step before."""
    moves = np.diff(alignment.argmax(1))
    return float(((moves >= 0) & (moves <= MAX_MOVE)).mean()) if len(moves) else 1.0


def _stacked(values: list[np.ndarray]) -> np.ndarray:
    """[B, longest, ...], zeros after the end of each; at least one place."""
    longest = max(1, *map(len, values))
    return np.stack([np.pad(one, [(0, longest - len(one)), *[(0, 0)] * (one.ndim - 1)]) for one in values])


def _texts(dataset: Dataset, *, names: list[str]) -> dict[str, str]:
    table = dataset.manifest("validation", columns=("utterance_id", "text"))
    found = table.filter(pc.is_in(table["utterance_id"], pa.array(names)))
    return dict(zip(found["utterance_id"].to_pylist(), found["text"].to_pylist(), strict=True))
