"""The voice loss trains the decoder, not the encoder that compares voices; weight 0 leaves it out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

from tests.trainer.models import random_batch, random_mel, teacher_force
from trainer.config.loss_config import LossConfig
from trainer.model.rng import RngStream
from trainer.model.xtts import XTTS


def gradients_of_voice(model: XTTS) -> dict[str, float]:
    """Return the gradient norms of the voice loss alone, by path; 0 for None."""
    given = random_batch(frames=[24, 17, 9], token_counts=[10, 4, 7], width=24, tokens=10)
    with tf.GradientTape() as tape:
        noise = RngStream(seed=1, step=tf.constant(2))
        _, losses = teacher_force(model, given, losses=LossConfig(voice=1.0), step=tf.constant(0), noise=noise)
    variables = model.trainable_variables
    found = tape.gradient(losses["voice"], [variable.value for variable in variables])
    return {
        variable.path: 0.0 if one is None else float(tf.norm(tf.convert_to_tensor(one)))
        for variable, one in zip(variables, found, strict=True)
    }


@pytest.mark.slow
def test_the_voice_loss_teaches_the_decoder(narrow_models: Callable[..., XTTS]) -> None:
    found = gradients_of_voice(narrow_models(4))
    taught = [path for path, norm in found.items() if path.startswith("decoder/") and norm > 0]
    assert any("postnet" in path for path in taught)
    assert any("block_0" in path for path in taught)


def test_recognising_a_voice_teaches_the_encoder_nothing_and_the_mel_all(narrow_models: Callable[..., XTTS]) -> None:
    model = narrow_models(4)
    given = tf.constant(random_mel(2, 12))
    with tf.GradientTape() as tape:
        tape.watch(given)
        speaker = model.speaker_embedding(given, tf.constant([12, 7]))
        total = tf.reduce_sum(tf.square(speaker))
    weights = [variable.value for variable in model.reference_encoder.trainable_variables]
    *of_weights, of_mel = tape.gradient(total, [*weights, given])
    assert of_weights == [None] * len(weights)
    assert np.abs(of_mel[0]).max() > 0
    assert (of_mel[1, 7:].numpy() == 0).all()


def test_a_voice_is_recognised_as_what_the_decoder_is_told_of_it(narrow_models: Callable[..., XTTS]) -> None:
    model, mel, frames = narrow_models(4), tf.constant(random_mel(2, 12)), tf.constant([12, 7])
    np.testing.assert_allclose(
        model.speaker_embedding(mel, frames), model.encode_reference(mel, frames).speaker, atol=1e-5
    )


@pytest.mark.slow
def test_without_a_weight_no_voice_is_recognised(narrow_models: Callable[..., XTTS]) -> None:
    given = random_batch(frames=[24, 17], token_counts=[10, 4], width=24, tokens=10)

    def operations(voice: float) -> tuple[int, set[str]]:
        @tf.function(autograph=False)
        def judged() -> dict[str, tf.Tensor]:
            return teacher_force(narrow_models(4), given, losses=LossConfig(voice=voice), step=None, noise=None)[1]

        traced = judged.get_concrete_function()
        return len(traced.graph.get_operations()), set(traced.structured_outputs)

    without, names = operations(0.0)
    with_it, more_names = operations(1.0)
    assert more_names - names == {"voice"}
    assert with_it > 1.2 * without
