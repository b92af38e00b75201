"""The same losses in every precision."""

from __future__ import annotations

from collections.abc import Callable

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.trainer.models import M, disturbable, random_batch, random_mel, teacher_force
from trainer.config.loss_config import LossConfig
from trainer.config.model_config import ModelConfig
from trainer.config.model_sizes import StackDims
from trainer.model.attention import Attention, key_mask
from trainer.model.rng import RngStream
from trainer.model.xtts import XTTS

F, T = 64, 24
HALF_PRECISIONS = ("bfloat16", "float16")


def losses(precision: str, *, weights: list[np.ndarray] | None = None) -> tuple[dict[str, float], list[np.ndarray]]:
    """Each term of `nano` as it is made, and its weights; noise as in training."""
    keras.utils.set_random_seed(3)
    model = XTTS(ModelConfig(size="nano", precision=precision), vocabulary_size=40, n_mels=M, log_silence=-11.5)
    model.decoder.set_statistics(mean=[-5.0] * M, std=[2.0] * M)
    for variable, value in zip(model.variables, weights or [], strict=False):
        variable.assign(value)
    given = random_batch(frames=[F, 40, 21], token_counts=[T, 14, 9], width=F, tokens=T)
    noise = RngStream(seed=1, step=tf.constant(2))
    _, found = teacher_force(model, given, losses=LossConfig(), step=tf.constant(0), noise=noise)
    return {name: float(value) for name, value in found.items()}, [variable.numpy() for variable in model.variables]


@pytest.fixture(scope="module")
def exact() -> tuple[dict[str, float], list[np.ndarray]]:
    return losses("float32")


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["bfloat16", pytest.param("float16", marks=pytest.mark.soak)])
def test_losses_of_half_precision_agree_with_float32_within_2_percent(exact: tuple, precision: str) -> None:
    found, weights = losses(precision, weights=exact[1])
    assert found == pytest.approx(exact[0], rel=0.02)
    assert found != exact[0]
    assert {weight.dtype for weight in weights} == {np.dtype(np.float32)}


@pytest.mark.parametrize("precision", HALF_PRECISIONS)
def test_scores_beyond_float16_and_forbidden_keys_give_numbers(precision: str) -> None:
    attention = Attention(StackDims(64, 1), name="attention", dtype=keras.DTypePolicy(f"mixed_{precision}"))
    x = 30.0 * tf.random.stateless_normal([2, 5, 64], [1, 2])
    attended, weights = attention(x, attention.project(x), key_mask(tf.constant([3, 0]), 5))
    assert np.isfinite(tf.cast(attended, tf.float32)).all()
    assert (weights[0, ..., 3:].numpy() == 0).all()
    np.testing.assert_allclose(tf.reduce_sum(weights, -1), 1.0, atol=1e-5)


@pytest.mark.slow
def test_a_voice_of_long_loud_frames_does_not_overflow_float16(models: Callable[..., XTTS]) -> None:
    with disturbable(models(4, precision="float16")) as model:
        crop = tf.constant(random_mel(1, 400) + 20.0)
        for part in model.encode_reference(crop, tf.constant([400])):
            assert part.dtype == tf.float16
            assert np.isfinite(tf.cast(part, tf.float32)).all()
