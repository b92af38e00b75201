"""The losses of a vocoder's generator and of its discriminators.

Least squares: Mao et al., 2017, arXiv:1611.04076. Hinge: Lim & Ye, 2017, arXiv:1705.02894. Feature matching: Larsen et
al., 2016, arXiv:1512.09300. Log magnitudes at several resolutions: Yamamoto et al., 2020, arXiv:1910.11480. Periodicity
by normalised autocorrelation as in Boersma, 1993, but circular, and without correction for window and mean.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Sequence

import tensorflow as tf

from shared.features import FeatureSpec, mel_filterbank
from trainer.config.vocoder_train_config import VocoderLossConfig
from trainer.vocoder_training.discriminators import Judgement, magnitudes

MIN_MEL = 1e-5
LOWEST_HZ, HIGHEST_HZ = 55.0, 690.0  # the periodicity loss compares their periods and those between: speech and more
MEL_BANDS_PER_FFT = 12.8  # 80 bands of 1,024 bins; a shorter transform would leave bands without a bin


def discriminator_loss(real: Sequence[Judgement], fake: Sequence[Judgement], *, kind: str) -> tf.Tensor:
    """The sum over discriminators: high where recordings score low, or the generator's samples high."""
    if kind == "hinge":
        terms = [
            tf.reduce_mean(tf.nn.relu(1.0 - one.scores)) + tf.reduce_mean(tf.nn.relu(1.0 + other.scores))
            for one, other in zip(real, fake, strict=True)
        ]
    else:
        terms = [
            tf.reduce_mean(tf.square(1.0 - one.scores)) + tf.reduce_mean(tf.square(other.scores))
            for one, other in zip(real, fake, strict=True)
        ]
    return tf.add_n(terms)


def adversarial_loss(fake: Sequence[Judgement], *, kind: str) -> tf.Tensor:
    """The sum over discriminators: high where the generator's samples score low."""
    if kind == "hinge":
        return tf.add_n([one.weight * tf.reduce_mean(tf.nn.relu(1.0 - one.scores)) for one in fake])
    return tf.add_n([one.weight * tf.reduce_mean(tf.square(1.0 - one.scores)) for one in fake])


def feature_loss(real: Sequence[Judgement], fake: Sequence[Judgement]) -> tf.Tensor:
    """The difference between recordings and the generator's samples in the discriminators' layers.

    It is the sum over layers and discriminators of the mean absolute difference, as in HiFi-GAN.
    """
    distances = [
        other.weight * tf.reduce_mean(tf.abs(tf.stop_gradient(first) - second))
        for one, other in zip(real, fake, strict=True)
        for first, second in zip(one.features, other.features, strict=True)
    ]
    return tf.add_n(distances)


class MelLoss:
    """The mean difference in ln mel between signals, over several resolutions.

    The mels reach up to half of the rate, also where those that the vocoder is given end below, as in HiFi-GAN: else
    nothing but the discriminators would say how the highest frequencies should sound.
    """

    def __init__(self, spec: FeatureSpec, *, resolutions: Sequence[int]):
        self._filters = {n_fft: tf.constant(mel_filterbank(_resolution(spec, n_fft=n_fft))) for n_fft in resolutions}

    def __call__(self, samples: tf.Tensor, recording: tf.Tensor) -> tf.Tensor:
        """The loss [] of signals [B, S]."""
        return mean_difference(samples, recording, features=self._log_mel, sizes=self._filters)

    def _log_mel(self, samples: tf.Tensor, *, n_fft: int) -> tf.Tensor:
        mel = tf.matmul(magnitudes(samples, n_fft=n_fft), self._filters[n_fft])
        return tf.math.log(tf.maximum(mel, MIN_MEL))


class StftLoss:
    """The mean difference in ln magnitude of every bin between signals, over several resolutions.

    Most bands of a mel are wider than the spacing of harmonics. The bins of long transforms are narrower.
    """

    def __init__(self, *, resolutions: Sequence[int]):
        self._resolutions = resolutions

    def __call__(self, samples: tf.Tensor, recording: tf.Tensor) -> tf.Tensor:
        """The loss [] of signals [B, S]."""
        return mean_difference(samples, recording, features=self._log_magnitudes, sizes=self._resolutions)

    def _log_magnitudes(self, samples: tf.Tensor, *, n_fft: int) -> tf.Tensor:
        return tf.math.log(magnitudes(samples, n_fft=n_fft))


class PeriodicityLoss:
    """The mean difference in normalised autocorrelation between signals, over the periods of the pitch of speech."""

    def __init__(self, spec: FeatureSpec):
        rate_hz = spec.sample_rate_hz
        self._lags_samples = slice(round(rate_hz / HIGHEST_HZ), round(rate_hz / LOWEST_HZ))
        window_samples = 1 << math.ceil(math.log2(2 * rate_hz / LOWEST_HZ))  # at least two of the longest periods
        self._windows_samples = window_samples, 2 * window_samples

    def __call__(self, samples: tf.Tensor, recording: tf.Tensor) -> tf.Tensor:
        """The loss [] of signals [B, S], from 0 to 2."""
        return mean_difference(samples, recording, features=self._correlation, sizes=self._windows_samples)

    def _correlation(self, samples: tf.Tensor, *, n_fft: int) -> tf.Tensor:
        """The circular autocorrelation [B, F, lags] of frames, the inverse transform of the power, divided by lag 0."""
        power = tf.square(magnitudes(samples, n_fft=n_fft))
        correlation = tf.signal.irfft(tf.complex(power, tf.zeros_like(power)), [n_fft])
        return correlation[..., self._lags_samples] / correlation[..., :1]


def mean_difference(
    one: tf.Tensor, other: tf.Tensor, *, features: Callable[..., tf.Tensor], sizes: Collection[int]
) -> tf.Tensor:
    """The mean absolute difference [] of the features of signals [B, S], over several lengths of the transform.

    Args:
        features: called with signals [B, S] and `n_fft`.
        sizes: the values of `n_fft`.
    """
    distances = [tf.reduce_mean(tf.abs(features(one, n_fft=size) - features(other, n_fft=size))) for size in sizes]
    return tf.add_n(distances) / len(distances)


def _resolution(spec: FeatureSpec, *, n_fft: int) -> FeatureSpec:
    bands = max(1, min(spec.n_mels, int(n_fft / MEL_BANDS_PER_FFT)))
    return dataclasses.replace(spec, n_fft=n_fft, n_mels=bands, fmax_hz=spec.sample_rate_hz / 2)


class GanLosses:
    """The losses that the settings ask for."""

    def __init__(self, config: VocoderLossConfig, *, spec: FeatureSpec):
        self._config = config
        self._signal_losses: dict[str, Callable[[tf.Tensor, tf.Tensor], tf.Tensor]] = {
            "mel": MelLoss(spec, resolutions=config.mel_resolutions)
        }
        if config.stft_weight:
            self._signal_losses["stft"] = StftLoss(resolutions=config.mel_resolutions)
        if config.periodicity_weight:
            self._signal_losses["periodicity"] = PeriodicityLoss(spec)

    def of_discriminators(self, real: Sequence[Judgement], fake: Sequence[Judgement]) -> tf.Tensor:
        return discriminator_loss(real, fake, kind=self._config.adversarial)

    def without_discriminators(self, samples: tf.Tensor, recording: tf.Tensor) -> dict[str, tf.Tensor]:
        """The terms of signals [B, S] that need no discriminator, and `loss`, their weighted sum."""
        return self._weighted(self._signal_terms(samples, recording))

    def of_generator(
        self, samples: tf.Tensor, recording: tf.Tensor, *, real: Sequence[Judgement], fake: Sequence[Judgement]
    ) -> dict[str, tf.Tensor]:
        """The terms, and `loss`, their weighted sum."""
        adversarial, feature = adversarial_loss(fake, kind=self._config.adversarial), feature_loss(real, fake)
        signal_terms = self._signal_terms(samples, recording)
        return self._weighted({**signal_terms, "adversarial": adversarial, "feature": feature})

    def _signal_terms(self, samples: tf.Tensor, recording: tf.Tensor) -> dict[str, tf.Tensor]:
        return {name: loss(samples, recording) for name, loss in self._signal_losses.items()}

    def _weighted(self, terms: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        weights = {name: getattr(self._config, f"{name}_weight") for name in terms}
        return {"loss": tf.add_n([weights[name] * term for name, term in terms.items()]), **terms}
