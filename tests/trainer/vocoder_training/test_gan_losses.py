"""Losses of a vocoder's training, of values that can be worked out by hand."""

from __future__ import annotations

import dataclasses

import numpy as np
import pydantic
import pytest
import tensorflow as tf

from shared.features import mel_filterbank, preset
from trainer.config.vocoder_train_config import DiscriminatorConfig, VocoderLossConfig, VocoderTrainConfig
from trainer.vocoder_training.discriminators import (
    Judgement,
    NormedConvolution,
    PeriodDiscriminator,
    ScaleDiscriminator,
    magnitudes,
    make_discriminators,
)
from trainer.vocoder_training.gan_losses import (
    GanLosses,
    MelLoss,
    PeriodicityLoss,
    StftLoss,
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


def test_feature_matching_is_the_sum_over_layers_of_mean_differences() -> None:
    """As in `feature_loss` of HiFi-GAN's models.py, without its factor 2, which is `feature_weight`."""
    assert float(feature_loss(judged(1.0, features=3.0), judged(2.0, features=1.0))) == pytest.approx(2.0 + 1.0)
    real, fake = judged(1.0, 1.0, features=3.0), judged(2.0, 0.0, features=1.0)
    assert float(feature_loss(real, fake)) == pytest.approx(2 * (2.0 + 1.0))


def test_a_discriminators_weight_counts_in_what_the_generator_is_told() -> None:
    fake = [one._replace(weight=weight) for one, weight in zip(judged(0.0, 0.0), (1.0, 0.25), strict=True)]
    assert float(adversarial_loss(fake, kind="hinge")) == pytest.approx(1.25)
    assert float(adversarial_loss(fake, kind="least_squares")) == pytest.approx(1.25)
    assert float(feature_loss(judged(0.0, 0.0, features=2.0), fake)) == pytest.approx(2.0 * 1.25)
    assert float(discriminator_loss(judged(0.0, 0.0), fake, kind="hinge")) == pytest.approx(4.0)
    made = make_discriminators(DiscriminatorConfig(periods=(2,), resolutions=(512,), resolution_weight=0.1))
    assert [one.call(tf.zeros([1, 2048])).weight for one in made] == [1.0, 0.1]


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
    whole_band = dataclasses.replace(spec, fmax_hz=11_025.0)  # `fmax_for_loss: null` of HiFi-GAN's config_v1.json
    np.testing.assert_array_equal(loss._filters[1024], mel_filterbank(whole_band))


def test_what_the_mels_of_the_input_do_not_show_counts_in_mel_loss() -> None:
    noise = np.random.default_rng(0).normal(size=16_384)
    spectrum = np.fft.rfft(noise)
    spectrum[np.fft.rfftfreq(len(noise), 1 / 22_050) > 8_600] *= 0.01
    without_top = tf.constant(np.fft.irfft(spectrum)[None], tf.float32)
    loss = MelLoss(preset("hifigan-22k"), resolutions=(1024,))
    assert float(loss(without_top, tf.constant(noise[None], tf.float32))) > 0.1


def test_periodicity_loss_is_the_difference_of_numpys_circular_autocorrelations() -> None:
    """Numpy shifts each frame by each lag; the loss transforms the frame's power instead."""
    signals = np.random.default_rng(0).normal(size=(2, 4096))
    distances = []
    for window in (1024, 2048):
        padded = np.pad(signals, [(0, 0), (window // 2, window // 2)], mode="reflect")
        frames = np.lib.stride_tricks.sliding_window_view(padded, window, axis=1)[:, :: window // 4]
        frames = frames * (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window) / window))
        lags = range(round(22_050 / 690), round(22_050 / 55))
        moved = np.stack([(frames * np.roll(frames, lag, axis=-1)).sum(-1) for lag in lags], axis=-1)
        one, other = moved / np.square(frames).sum(-1, keepdims=True)
        distances.append(np.abs(one - other).mean())
    one, other = (tf.constant(signal[None], tf.float32) for signal in signals)
    found = float(PeriodicityLoss(preset("hifigan-22k"))(one, other))
    assert found == pytest.approx(np.mean(distances), rel=1e-3)


def test_periodicity_loss_depends_on_pitch_and_neither_on_phases_nor_on_loudness() -> None:
    def tone(pitch_hz: float, *, seed: int) -> tf.Tensor:
        phases = np.random.default_rng(seed).uniform(0, 2 * np.pi, 20)
        times_s = np.arange(16_384) / 22_050
        harmonics = [np.cos(2 * np.pi * pitch_hz * (1 + n) * times_s + phase) for n, phase in enumerate(phases)]
        return tf.constant(np.sum(harmonics, axis=0)[None], tf.float32)

    loss = PeriodicityLoss(preset("hifigan-22k"))
    same = float(loss(3.0 * tone(110.0, seed=1), tone(110.0, seed=2)))
    a_quarter_tone_higher = float(loss(tone(110.0 * 2 ** (0.5 / 12), seed=1), tone(110.0, seed=2)))
    assert same < 0.02
    assert a_quarter_tone_higher > 5 * same


def test_the_loss_is_the_weighted_sum_of_its_terms() -> None:
    config = VocoderLossConfig(adversarial="hinge", adversarial_weight=2.0, feature_weight=3.0, mel_weight=5.0)
    samples = tf.constant(np.random.default_rng(0).normal(size=[1, 4096]), tf.float32)
    losses = GanLosses(config, spec=preset("hifigan-22k"))
    terms = losses.of_generator(2.0 * samples, samples, real=judged(1.0, features=3.0), fake=judged(0.0, features=1.0))
    assert float(terms["loss"]) == pytest.approx(5.0 * np.log(2.0) + 2.0 * 1.0 + 3.0 * 3.0, rel=1e-3)
    assert terms.keys() == {"loss", "mel", "adversarial", "feature"}


def test_terms_with_a_weight_are_added_where_there_are_no_discriminators_too() -> None:
    one, other = (tf.constant(np.random.default_rng(seed).normal(size=[1, 4096]), tf.float32) for seed in (0, 1))
    spec = preset("hifigan-22k")
    config = VocoderLossConfig(mel_weight=5.0, periodicity_weight=7.0, stft_weight=3.0, mel_resolutions=(256, 512))
    terms = {
        name: float(term) for name, term in GanLosses(config, spec=spec).without_discriminators(one, other).items()
    }
    assert terms["periodicity"] == pytest.approx(float(PeriodicityLoss(spec)(one, other)), rel=1e-6)
    assert terms["stft"] == pytest.approx(float(StftLoss(resolutions=(256, 512))(one, other)), rel=1e-6)
    expected = 5.0 * terms["mel"] + 7.0 * terms["periodicity"] + 3.0 * terms["stft"]
    assert terms["loss"] == pytest.approx(expected, rel=1e-6)


def test_a_gain_is_its_logarithm_in_stft_loss() -> None:
    samples = tf.constant(np.random.default_rng(0).normal(size=[2, 8192]), tf.float32)
    loss = StftLoss(resolutions=(512, 1024))
    assert float(loss(samples, samples)) == 0.0
    assert float(loss(3.0 * samples, samples)) == pytest.approx(np.log(3.0), rel=1e-4)
    assert float(loss(samples, 3.0 * samples)) == pytest.approx(np.log(3.0), rel=1e-4)


@pytest.mark.parametrize("samples", [2048, 2049])
def test_discriminators_judge_every_length_by_all_their_layers(samples: int) -> None:
    signal = tf.constant(np.random.default_rng(0).normal(size=[2, samples]), tf.float32)
    discriminators = make_discriminators(SMALL)
    judgements = [one.call(signal) for one in discriminators]
    assert [len(one.features) for one in judgements] == [3, 3, 6]
    assert [len(one.trainable_variables) for one in discriminators] == [9, 9, 18]  # three of each layer, the last too
    assert all(one.scores.shape[0] == 2 and one.scores.shape[-1] == 1 for one in judgements)


def test_each_group_of_filters_sees_its_part_of_the_channels() -> None:
    layer = NormedConvolution(8, 12, kernel=(5, 1), strides=(2, 1), groups=4, name="layer")
    random = np.random.default_rng(0)
    x = tf.constant(random.normal(size=[2, 33, 1, 8]), tf.float32)
    parts = zip(tf.split(x, 4, -1), tf.split(layer.direction.value, 4, -1), strict=True)
    wanted = tf.concat([tf.nn.conv2d(part, filters, (2, 1), "SAME") for part, filters in parts], -1)
    np.testing.assert_allclose(layer.call(x), wanted, atol=1e-5)


def test_a_scale_sees_means_of_neighbours_at_a_part_of_the_rate() -> None:
    signal = tf.ones([1, 64])
    images = {scale: ScaleDiscriminator(scale, channels=(4,) * 7).image(signal) for scale in (1, 2, 4)}
    assert {scale: image.shape.as_list() for scale, image in images.items()} == {
        1: [1, 64, 1, 1],
        2: [1, 32, 1, 1],
        4: [1, 16, 1, 1],
    }
    assert all(np.allclose(image, 1.0) for image in images.values())
    alternating = tf.constant(np.tile([1.0, -1.0], 32)[None], tf.float32)
    assert np.allclose(ScaleDiscriminator(2, channels=(4,) * 7).image(alternating)[0, 1:-1], 0.0)


def test_discriminators_over_scales_have_the_layers_of_hifi_gan() -> None:
    """The shapes of the filters of one of its three networks, as its authors state kernels, groups and widths."""
    (one,) = make_discriminators(DiscriminatorConfig(periods=(), resolutions=(), scales=(1,)))
    counted = {weight.path: weight.shape for weight in one.weights if weight.path.endswith("direction")}
    assert list(counted.values()) == [
        (15, 1, 1, 128),
        (41, 1, 32, 128),
        (41, 1, 8, 256),
        (41, 1, 16, 512),
        (41, 1, 32, 1024),
        (41, 1, 64, 1024),
        (5, 1, 1024, 1024),
        (3, 1, 1024, 1),
    ]


@pytest.mark.slow
def test_a_compiled_program_has_the_gradient_of_each_weight_over_scales() -> None:
    (one,) = make_discriminators(DiscriminatorConfig(periods=(), resolutions=(), scales=(2,), scale_channels=(8,) * 7))
    signal = tf.constant(np.random.default_rng(0).normal(size=[2, 512]), tf.float32)

    @tf.function(jit_compile=True, autograph=False)
    def gradients() -> list[tf.Tensor]:
        weights = [weight.value for weight in one.trainable_variables]
        with tf.GradientTape() as tape:
            loss = adversarial_loss([one.call(signal)], kind="least_squares")
        return tape.gradient(loss, weights)

    found = gradients()
    assert len(found) == 8 * 3
    assert all(np.abs(gradient).max() > 0 for gradient in found)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"periods": [], "resolutions": []}, "expected a discriminator of one kind at least"),
        ({"scales": [1, 3]}, "scales: 3 is no power of two up to 64"),
        ({"scales": [2**40]}, "is no power of two up to 64"),
        ({"periods": [2, 3, 2]}, "periods: a number occurs twice"),
        ({"scale_channels": [8]}, "at least 7 items"),
        ({"resolutions": [2]}, "greater than or equal to 16"),
    ],
)
def test_discriminators_that_cannot_be_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(pydantic.ValidationError, match=message):
        DiscriminatorConfig.model_validate(settings)
    with pytest.raises(pydantic.ValidationError, match="no gradient for them on the CPU without xla: true"):
        VocoderTrainConfig.model_validate({"discriminators": {"scales": [1]}, "xla": False})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": {"mel_resolutions": [2]}}, "greater than or equal to 16"),
        (
            {"discriminators": {"periods": [2, 9000]}},
            "periods: 9000; a segment has 16384 samples, expected half at most",
        ),
    ],
)
def test_transforms_and_periods_that_no_segment_holds_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(pydantic.ValidationError, match=message):
        VocoderTrainConfig.model_validate(settings)


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


@pytest.mark.parametrize("gains", [(1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (0.0, 0.0)])
def test_compiled_gradients_of_the_terms_are_finite_also_of_silence(gains: tuple[float, float]) -> None:
    spec = preset("hifigan-22k")
    losses = GanLosses(VocoderLossConfig(periodicity_weight=7.0, stft_weight=3.0, mel_resolutions=(512,)), spec=spec)
    one, other = (
        tf.constant(gain * np.random.default_rng(seed).normal(size=[1, 4096]), tf.float32)
        for seed, gain in enumerate(gains)
    )

    @tf.function(jit_compile=True, autograph=False)
    def gradient() -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(one)
            loss = losses.without_discriminators(one, other)["loss"]
        return tape.gradient(loss, one)

    assert np.isfinite(gradient().numpy()).all()
