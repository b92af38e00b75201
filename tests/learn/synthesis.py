"""Synthesis of clips by a run's checkpoint, in batches of one shape, so that one XLA program suffices."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from shared.dataset import Dataset
from shared.errors import UserError
from shared.vocabulary import Vocabulary
from tests.learn.clips import Clip
from trainer.checkpoint.checkpoint import load_checkpoint
from trainer.checkpoint.checkpoint_files import CheckpointFile, list_checkpoints
from trainer.checkpoint.run_dir import build_model, read_run_info
from trainer.data.reference_length import ReferenceLength
from trainer.model.reference_crop import loudest_part
from trainer.model.xtts import Generated

BATCH = 32
LONGEST = 1.5  # maximum length, relative to the longest recording


class Prompt(NamedTuple):
    """A clip whose text is to be spoken, and a reference clip of a voice, if any."""

    clip: Clip
    reference: Clip | None


class SynthesizedClip(NamedTuple):
    """A synthesized clip."""

    mel: np.ndarray  # [F, M] ln magnitude
    alignment: np.ndarray  # [N, T]


class RunSynthesizer:
    """The model of a run at a checkpoint, or with fresh weights."""

    def __init__(self, run: Path, *, dataset: Dataset, step: int | None):
        """`step` is that of the checkpoint; 0 means fresh weights, None the last checkpoint.

        Raises:
            UserError: there is no such run or checkpoint.
        """
        info = read_run_info(run)
        self._lengths = info.lengths
        keras.utils.set_random_seed(info.config.seed)
        self.model = build_model(info.config, contract=info.contract, vocabulary=Vocabulary.load(run / "vocab.json"))
        self.model.decoder.set_statistics(mean=list(dataset.info.mel.mean), std=list(dataset.info.mel.std))
        self.step = 0
        if step != 0:
            saved = _checkpoint(run, step=step)
            load_checkpoint(saved.path, model=self.model, contract=info.contract.fingerprint)
            self.step = saved.step
        self._compiled = tf.function(self._generate, jit_compile=True, autograph=False)

    def synthesize(self, asked: list[Prompt], *, own_end: bool = True) -> list[SynthesizedClip]:
        """Synthesize each sentence to its predicted end, or to the length of its recording."""
        r = self.model.config.frames_per_step
        longest = max(one.clip.frames for one in asked)
        shape = Shape(
            tokens=max(len(one.clip.tokens) for one in asked),
            crop=self.model.config.crop_frames,
            steps=int(np.ceil(longest * (LONGEST if own_end else 1.0) / r)),
        )
        spoken: list[SynthesizedClip] = []
        for start in range(0, len(asked), BATCH):
            part = asked[start : start + BATCH]
            given = _batch(part, shape=shape, lengths=self._lengths)
            generated = self._compiled(*given, shape.steps, tf.constant(0.5 if own_end else 1.0))
            for row, one in enumerate(part):
                steps = int(generated.steps[row]) if own_end else -(-one.clip.frames // r)
                mel = generated.mel[row, : steps * r].numpy()
                spoken.append(SynthesizedClip(mel, generated.alignment[row, :steps, : len(one.clip.tokens)].numpy()))
        return spoken

    def speaker_embeddings(self, mels: list[np.ndarray]) -> np.ndarray:
        """Speaker embeddings [mels, S] of mels [F, M], normalised to length 1."""
        longest = max(map(len, mels))
        padded = np.stack([np.pad(mel, [(0, longest - len(mel)), (0, 0)]) for mel in mels])
        frames = tf.constant([len(mel) for mel in mels], tf.int32)
        return tf.math.l2_normalize(self.model.speaker_embedding(tf.constant(padded), frames), -1).numpy()

    def _generate(
        self, tokens: tf.Tensor, counts: tf.Tensor, crop: tf.Tensor, frames: tf.Tensor, steps: int, threshold: tf.Tensor
    ) -> Generated:
        return self.model.generate(
            tokens,
            token_counts=counts,
            crop=crop,
            crop_frames=frames,
            max_steps=steps,
            seed=1,
            stop_threshold=threshold,
        )


class Shape(NamedTuple):
    """The shape that all batches are padded to."""

    tokens: int
    crop: int
    steps: int


def _checkpoint(run: Path, *, step: int | None) -> CheckpointFile:
    saved = list_checkpoints(run)
    if not saved:
        raise UserError(f"{run}: no checkpoint yet; `make train RUN={run}` writes one")
    found = [one for one in saved if step is None or one.step == step]
    if not found:
        raise UserError(f"{run}: no checkpoint of step {step}; there are {', '.join(str(one.step) for one in saved)}")
    return found[-1]


def _batch(
    asked: list[Prompt], *, shape: Shape, lengths: ReferenceLength
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
    """Tokens, token counts, reference crops and their frames, padded with empty rows."""
    n_mels = asked[0].clip.mel.shape[1]
    tokens, crop = np.zeros([BATCH, shape.tokens], np.int32), np.zeros([BATCH, shape.crop, n_mels], np.float32)
    counts, frames = np.ones(BATCH, np.int32), np.zeros(BATCH, np.int32)
    for row, (clip, reference) in enumerate(asked):
        counts[row] = len(clip.tokens)
        tokens[row, : counts[row]] = clip.tokens
        if reference is None:
            continue
        most = lengths.reference_frames(len(clip.tokens), crop_frames=shape.crop)
        heard = loudest_part(reference.mel, frames=most).numpy()
        frames[row] = len(heard)
        crop[row, : frames[row]] = heard
    return tuple(map(tf.constant, (tokens, counts, crop, frames)))
