"""Small models in which every weight has an effect, and batches for them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import keras
import numpy as np
import tensorflow as tf

from trainer.config.loss_config import LossConfig
from trainer.config.model_config import ModelConfig
from trainer.config.model_sizes import SIZES, ModelDims, StackDims
from trainer.model.decoder import Decoded
from trainer.model.rng import RngStream
from trainer.model.xtts import XTTS
from trainer.training.train_step import Losses, forward_loss, prepare_inputs

M = 16
VOCABULARY = 40
SILENCE = float(np.log(1e-5))
NARROW = ModelDims(StackDims(16, 1), StackDims(16, 1), StackDims(16, 1), 8, 8, 8)  # the smallest model with every part


def perturbed_pico(frames_per_step: int, **options: object) -> XTTS:
    """Make a model with perturbed weights: an initial last layer of zeros would hide everything before it."""
    keras.utils.set_random_seed(5)
    settings = {"size": "pico", "crop_frames": 16, "reference_dropout": 0.5, "precision": "float32"}
    config = ModelConfig.model_validate({**settings, "frames_per_step": frames_per_step, **options})
    model = XTTS(config, vocabulary_size=VOCABULARY, n_mels=M, log_silence=SILENCE)
    random = np.random.default_rng(5)
    for variable in model.trainable_variables:
        variable.assign_add(random.normal(0.0, 0.05, variable.shape).astype(np.float32))
    model.decoder.set_statistics(mean=list(random.normal(-5.0, 1.0, M)), std=list(random.uniform(1.0, 2.0, M)))
    return model


def perturbed_narrow(frames_per_step: int = 4, **options: object) -> XTTS:
    """Make a perturbed model with one narrow layer everywhere, which has every part and compiles fastest."""
    kept = SIZES["pico"]
    SIZES["pico"] = NARROW
    try:
        return perturbed_pico(frames_per_step, **options)
    finally:
        SIZES["pico"] = kept


@contextlib.contextmanager
def disturbable(model: XTTS) -> Iterator[XTTS]:
    """Lend a shared model; its weights are restored when the block ends."""
    before = [variable.numpy() for variable in model.variables]
    yield model
    for variable, value in zip(model.variables, before, strict=True):
        variable.assign(value)


def random_mel(*shape: int, seed: int = 0) -> np.ndarray:
    """[..., M] ln magnitude."""
    return np.random.default_rng(seed).normal(-5.0, 2.0, (*shape, M)).astype(np.float32)


def random_tokens(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(1, VOCABULARY, shape).astype(np.int32)


def random_batch(*, frames: list[int], token_counts: list[int], width: int, tokens: int, seed: int = 0) -> dict:
    """Make a batch like the input stream's: padded with silence and token 0."""
    valid = np.arange(width)[None, :] < np.array(frames)[:, None]
    spoken = np.arange(tokens)[None, :] < np.array(token_counts)[:, None]
    return {
        "mel": tf.constant(np.where(valid[:, :, None], random_mel(len(frames), width, seed=seed), np.float32(SILENCE))),
        "frames": tf.constant(frames, tf.int32),
        "tokens": tf.constant(np.where(spoken, random_tokens(len(frames), tokens, seed=seed), 0)),
        "token_counts": tf.constant(token_counts, tf.int32),
    }


def decode(model: XTTS, batch: dict, *, crop: np.ndarray, crop_frames: list[int] | None = None) -> Decoded:
    """Run the model with teacher forcing and without noise, on a reference crop [B, C, M]."""
    lengths = crop_frames or [crop.shape[1]] * len(crop)
    return model(
        tf.constant(batch["mel"]),
        tokens=tf.constant(batch["tokens"]),
        token_counts=tf.constant(batch["token_counts"]),
        crop=tf.constant(crop),
        crop_frames=tf.constant(lengths, tf.int32),
    )


def teacher_force(
    model: XTTS, batch: dict, *, losses: LossConfig, step: tf.Tensor | None, noise: RngStream | None
) -> tuple[Decoded, Losses]:
    """Run the model on a batch of the input stream with a reference crop per clip, and return the losses of `step`."""
    return forward_loss(model, prepare_inputs(model, batch, noise=noise), losses=losses, step=step, noise=noise)


def same_for_all(*, place: object = 0, rows_alike: bool = True, **source: object) -> RngStream:
    """A substitute for RngStream: every row draws the same numbers, in any micro-batch and on any replica."""
    return RngStream(rows_alike=True, **source)
