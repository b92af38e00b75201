"""What the decoder makes of a distribution, and what is dropped.

z = μ + σ ε, y' = z + MLP(z), y'' = y' + post-net(y').
"""

from __future__ import annotations

from collections.abc import Callable

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.trainer.models import SILENCE, VOCABULARY, M, decode, disturbable, random_batch, random_mel
from trainer.config.model_config import ModelConfig
from trainer.config.model_sizes import StackDims
from trainer.model.attention import causal_mask, key_mask
from trainer.model.decoder import MIN_STD
from trainer.model.layers import Block, DecoderBlock, LayerConfig
from trainer.model.rng import RngStream
from trainer.model.xtts import XTTS

R, C = 4, 12


def noise(step: int) -> RngStream:
    return RngStream(seed=1, step=tf.constant(step))


def test_drawn_frames_have_the_mean_and_deviation_that_were_predicted(models: Callable[..., XTTS]) -> None:
    mean, log_variance = tf.fill([1, 20_000, M], 2.0), tf.fill([1, 20_000, M], -1.4)
    drawn = models(R).decoder.sample(mean, log_variance, noise=noise(1)).numpy()
    assert drawn.mean() == pytest.approx(2.0, abs=0.01)
    assert drawn.std() == pytest.approx(np.exp(-0.7), rel=0.01)


@pytest.mark.slow
def test_a_fresh_model_refines_nothing_and_says_the_mean() -> None:
    """The last layers of both corrections begin as zeros: y'' = y' = z, and without noise z = μ."""
    config = ModelConfig(size="pico", precision="float32")
    model = XTTS(config, vocabulary_size=VOCABULARY, n_mels=M, log_silence=SILENCE)
    model.decoder.set_statistics(mean=[-5.0] * M, std=[2.0] * M)
    given = random_batch(frames=[24], token_counts=[10], width=24, tokens=10)
    decoded = decode(model, given, crop=random_mel(1, C))
    for refined in (decoded.coarse, decoded.refined):
        np.testing.assert_array_equal(refined, decoded.mean)
    np.testing.assert_allclose(decoded.mel, -5.0 + 2.0 * decoded.mean, atol=1e-5)


def test_the_postnet_corrects_what_it_hears_and_does_not_replace_it(models: Callable[..., XTTS]) -> None:
    """Where its last layer is zeros nothing is corrected, whatever the frames are."""
    with disturbable(models(R)) as model:
        for variable in model.trainable_variables:
            if "postnet/output/" in variable.path or "refine_1/" in variable.path:
                variable.assign(tf.zeros_like(variable))
        drawn = tf.constant(random_mel(2, 9))
        for refined in model.decoder.postnet(drawn):
            np.testing.assert_array_equal(refined, drawn)


@pytest.mark.slow
def test_the_prenet_drops_half_of_what_it_hears_in_speaking_too(models: Callable[..., XTTS]) -> None:
    """Tacotron 2's and MELLE's way to diversity: the mean itself, before any sampling, is another at each seed."""
    model = models(R, dropout=0.0)
    given = random_batch(frames=[24], token_counts=[10], width=24, tokens=10)
    memory = model.encode_memory(
        given["tokens"], given["token_counts"], model.encode_reference(random_mel(1, C), tf.constant([C]))
    )
    previous, cache = tf.constant(random_mel(1, R)), model.decoder.empty_cache(1, steps=3)
    means = [
        model.decoder.step(previous, memory, cache, tf.constant(0), draws)[0].mean.numpy()
        for draws in (None, noise(1), noise(1), noise(2))
    ]
    np.testing.assert_array_equal(means[1], means[2])
    for one, other in ((0, 1), (0, 3), (1, 3)):
        assert np.abs(means[one] - means[other]).max() > 1e-3


@pytest.mark.slow
def test_a_block_of_which_everything_is_dropped_passes_on_what_it_was_given() -> None:
    """Each branch of a block is dropped, and none without noise."""
    layer_config = LayerConfig(1.0 - 1e-7, keras.DTypePolicy("float32"))
    x, memory = (tf.constant(random_mel(2, size, seed=size)) for size in (7, 5))
    encoder, decoder = (
        Block(StackDims(M, 1), layer_config, name="a"),
        DecoderBlock(StackDims(M, 1), layer_config, name="b"),
    )
    mask, memory_mask = causal_mask(7), key_mask(tf.constant([5, 3]), 5)

    def outputs(draws: RngStream | None) -> list[tf.Tensor]:
        return [
            encoder(x, mask, rotation=None, noise=draws),
            decoder(x, mask, decoder.project_memory(memory), memory_mask, rotation=None, noise=draws)[0],
        ]

    for output in outputs(noise(1)):
        np.testing.assert_array_equal(output, x)
    for output in outputs(None):
        assert np.abs(output - x).max() > 1e-2


def test_a_band_that_is_always_silent_is_not_divided_by_nothing(models: Callable[..., XTTS]) -> None:
    with disturbable(models(R)) as model:
        model.decoder.set_statistics(mean=[SILENCE] * M, std=[0.0] * M)
        mel = tf.fill([1, 3, M], np.float32(SILENCE + 0.1))
        standardised = model.decoder.standardise(mel)
        np.testing.assert_allclose(standardised, 0.1 / MIN_STD, rtol=1e-3)
        np.testing.assert_allclose(model.decoder.unstandardise(standardised), mel, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("frames", [1, 2, 11, 12])
def test_every_frame_of_a_reference_is_heard(models: Callable[..., XTTS], frames: int) -> None:
    crop = random_mel(1, 12)
    plain = models(R).encode_reference(crop, tf.constant([frames]))
    for frame in range(frames):
        changed = crop.copy()
        changed[:, frame] += 3.0
        for part, other in zip(plain, models(R).encode_reference(changed, tf.constant([frames])), strict=True):
            assert np.abs(part - other).max() > 1e-4, frame
