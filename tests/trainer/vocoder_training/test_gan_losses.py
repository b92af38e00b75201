"""Losses of a vocoder's training, of values that can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from shared.features import mel_filterbank, preset
from trainer.config.vocoder_train_config import DiscriminatorConfig, VocoderLossConfig
from trainer.vocoder_training.discriminators import (
    Judgement,
    NormedConvolution,
    PeriodDiscriminator,
    magnitudes,
    make_discriminators,
)
from trainer.vocoder_training.gan_losses import (
    GanLosses,
    MelLoss,
    adversarial_loss,
    discriminator_loss,
    feature_loss,
)

SMALL = DiscriminatorConfig(periods=(2, 3), resolutions=(256,), period_channels=(4, 8), resolution_channels=4)


def judged(*scores: float, features: float = 0.0) -> list[Judgement]:
    return [Judgement(tf.constant([[one]]), (tf.constant([features]), tf.constant([[one]]))) for one in scores]


@pytest.mark.parametrize(
    ("kind", "of_discriminators", "of_generator"),
    [("least_squares", (0.25 + 0.0) + (1.0 + 4.0), 1.0 + 1.0), ("hinge", (0.5 + 1.0) + (1.0 + 3.0), 1.0 + 0.0)],
)
def test_adversarial_losses_are_sums_over_discriminators(
    kind: str, of_discriminators: float, of_generator: float
) -> None:
    """Recordings score 0.5 and 0, the generator's samples 0 and 2."""
    real, fake = judged(0.5, 0.0), judged(0.0, 2.0)
    assert float(discriminator_loss(real, fake, kind=kind)) == pytest.approx(of_discriminators)
    assert float(adversarial_loss(fake, kind=kind)) == pytest.approx(of_generator)


def test_feature_matching_is_the_mean_difference_of_layers() -> None:
    assert float(feature_loss(judged(1.0, features=3.0), judged(2.0, features=1.0))) == pytest.approx((2.0 + 1.0) / 2)


def test_magnitudes_are_those_of_numpy() -> None:
    samples = np.random.default_rng(0).normal(size=1000)
    padded = np.pad(samples, 128, mode="reflect")
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(256) / 256)
    frames = np.lib.stride_tricks.sliding_window_view(padded, 256)[::64]
    found = magnitudes(tf.constant(samples[None], tf.float32), n_fft=256).numpy()[0]
    np.testing.assert_allclose(found, np.abs(np.fft.rfft(frames * window)), atol=1e-3)


def test_a_gain_is_its_logarithm_in_mel_loss_at_every_resolution() -> None:
    spec = preset("hifigan-22k")
    samples = tf.constant(np.random.default_rng(0).normal(size=[2, 8192]), tf.float32)
    loss = MelLoss(spec, resolutions=(512, 1024, 2048))
    assert float(loss(samples, samples)) == 0.0
    assert float(loss(2.0 * samples, samples)) == pytest.approx(np.log(2.0), rel=1e-4)
    assert [len(one) for one in loss._filters.values()] == [257, 513, 1025]
    assert all((filters.numpy().max(axis=0) > 0).all() for filters in loss._filters.values())  # no band is empty
    np.testing.assert_array_equal(loss._filters[1024], mel_filterbank(spec))


def test_the_loss_is_the_weighted_sum_of_its_terms() -> None:
    config = VocoderLossConfig(adversarial="hinge", adversarial_weight=2.0, feature_weight=3.0, mel_weight=5.0)
    samples = tf.constant(np.random.default_rng(0).normal(size=[1, 4096]), tf.float32)
    losses = GanLosses(config, spec=preset("hifigan-22k"))
    terms = losses.of_generator(2.0 * samples, samples, real=judged(1.0, features=3.0), fake=judged(0.0, features=1.0))
    assert float(terms["loss"]) == pytest.approx(5.0 * np.log(2.0) + 2.0 * 1.0 + 3.0 * 1.5, rel=1e-3)


@pytest.mark.parametrize("samples", [2048, 2049])
def test_discriminators_judge_every_length_by_all_their_layers(samples: int) -> None:
    signal = tf.constant(np.random.default_rng(0).normal(size=[2, samples]), tf.float32)
    judgements = [one.call(signal) for one in make_discriminators(SMALL)]
    assert [len(one.features) for one in judgements] == [3, 3, 6]
    assert all(one.scores.shape[0] == 2 and one.scores.shape[-1] == 1 for one in judgements)


def test_a_period_puts_every_so_manieth_sample_into_a_column() -> None:
    image = PeriodDiscriminator(3, channels=(4,)).image(tf.range(8.0)[None])
    assert image[0, :, :, 0].numpy().tolist() == [[0, 1, 2], [3, 4, 5], [6, 7, 6]]


def test_the_norm_of_a_filter_is_its_gain_and_a_new_one_has_that_of_its_direction() -> None:
    layer = NormedConvolution(3, 5, kernel=(3, 1), name="layer")
    x = tf.constant(np.random.default_rng(0).normal(size=[1, 9, 2, 3]), tf.float32)
    wanted = tf.nn.conv2d(x, layer.direction.value, 1, "SAME")
    np.testing.assert_allclose(layer.call(x), wanted, atol=1e-5)
    layer.direction.assign(7.0 * layer.direction)  # of which only the direction counts
    np.testing.assert_allclose(layer.call(x), wanted, atol=1e-5)
    layer.gain.assign(2.0 * layer.gain)
    np.testing.assert_allclose(layer.call(x), 2.0 * wanted, atol=1e-5)
