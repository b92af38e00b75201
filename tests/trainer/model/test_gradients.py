"""The training step: what the loss depends on, and that every weight learns from it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

from tests.trainer.models import random_batch, random_mel, teacher_force
from trainer.config.loss_config import LossConfig
from trainer.config.model_sizes import SIZES
from trainer.model.rng import RngStream
from trainer.model.xtts import XTTS

F, T = 24, 10


def batch() -> dict:
    return random_batch(frames=[F, 17, 9, 0], token_counts=[T, 4, 7, 0], width=F, tokens=T)


def noise() -> RngStream:
    return RngStream(seed=1, step=tf.constant(2))


def gradients(model: XTTS) -> dict[str, np.ndarray]:
    with tf.GradientTape() as tape:
        _, losses = teacher_force(model, batch(), losses=LossConfig(), step=tf.constant(0), noise=noise())
    found = tape.gradient(losses["loss"], [variable.value for variable in model.trainable_variables])
    assert [v.path for v, one in zip(model.trainable_variables, found, strict=True) if one is None] == []
    return {
        variable.path: tf.convert_to_tensor(one).numpy()
        for variable, one in zip(model.trainable_variables, found, strict=True)
    }


OPTIONS = [{}, {"precision": "bfloat16"}, {"positions": "rotary", "precision": "bfloat16"}, {"style_tokens": 10}]


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=["float32", "bfloat16", "rotary in bfloat16", "style tokens"])
def test_every_trainable_weight_gets_a_finite_gradient(models: Callable[..., XTTS], options: dict) -> None:
    found = gradients(models(4, **options))
    assert [path for path, gradient in found.items() if not np.any(gradient)] == []
    assert [path for path, gradient in found.items() if not np.isfinite(gradient).all()] == []


@pytest.mark.slow
def test_guidance_of_attention_reaches_every_block(models: Callable[..., XTTS]) -> None:
    """What it weighs alone; the blocks after one do not see its queries and keys but by what it passes on."""
    model, losses = models(4), LossConfig(mel=0, kl=0, flux=0, stop=0)
    with tf.GradientTape() as tape:
        _, found = teacher_force(model, batch(), losses=losses, step=tf.constant(0), noise=noise())
    attending = [
        variable
        for variable in model.trainable_variables
        if variable.path.split("/")[-3:-1] in (["memory_attention", "query"], ["memory_attention", "key"])
    ]
    assert len(attending) == 2 * SIZES["pico"].decoder.layers
    for variable, gradient in zip(attending, tape.gradient(found["loss"], attending), strict=True):
        assert np.any(gradient), variable.path


@pytest.mark.slow
def test_the_loss_does_not_depend_on_what_stands_in_the_padding(models: Callable[..., XTTS]) -> None:
    given = batch()
    valid = np.arange(F)[None, :] < given["frames"].numpy()[:, None]
    spoken = np.arange(T)[None, :] < given["token_counts"].numpy()[:, None]
    disturbed = {
        **given,
        "mel": tf.constant(np.where(valid[:, :, None], given["mel"], random_mel(4, F, seed=8))),
        "tokens": tf.constant(np.where(spoken, given["tokens"], 11)),
    }
    for random in (None, noise()):
        plain, other = (
            teacher_force(models(4), one, losses=LossConfig(), step=tf.constant(0), noise=random and noise())[1]
            for one in (given, disturbed)
        )
        for name, value in plain.items():
            np.testing.assert_allclose(other[name], value, rtol=2e-5, err_msg=name)


@pytest.mark.slow
def test_a_clip_in_float16_is_judged_like_one_in_float32(models: Callable[..., XTTS]) -> None:
    given = batch()
    half = tf.cast(given["mel"], tf.float16)
    plain, other = (
        teacher_force(models(4), {**given, "mel": mel}, losses=LossConfig(), step=None, noise=None)[1]["loss"]
        for mel in (tf.cast(half, tf.float32), half)
    )
    assert float(plain) == float(other)
