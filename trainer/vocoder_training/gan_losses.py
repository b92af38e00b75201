"""The losses of a vocoder's generator and of its discriminators.

Least squares: Mao et al., 2017, arXiv:1611.04076. Hinge: Lim & Ye, 2017, arXiv:1705.02894. Feature matching: Larsen et
al., 2016, arXiv:1512.09300. The mel loss is the mean difference in ln mel over several resolutions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import tensorflow as tf

from shared.features import FeatureSpec, mel_filterbank
from trainer.config.vocoder_train_config import VocoderLossConfig
from trainer.vocoder_training.discriminators import Judgement, magnitudes

MIN_MEL = 1e-5
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
        return tf.add_n([tf.reduce_mean(tf.nn.relu(1.0 - one.scores)) for one in fake])
    return tf.add_n([tf.reduce_mean(tf.square(1.0 - one.scores)) for one in fake])


def feature_loss(real: Sequence[Judgement], fake: Sequence[Judgement]) -> tf.Tensor:
    """The mean difference of the discriminators' layers between recordings and the generator's samples."""
    distances = [
        tf.reduce_mean(tf.abs(tf.stop_gradient(first) - second))
        for one, other in zip(real, fake, strict=True)
        for first, second in zip(one.features, other.features, strict=True)
    ]
    return tf.add_n(distances) / len(distances)


class MelLoss:
    """The mean difference in ln mel between signals, over several resolutions."""

    def __init__(self, spec: FeatureSpec, *, resolutions: Sequence[int]):
        self._filters = {n_fft: tf.constant(mel_filterbank(_resolution(spec, n_fft=n_fft))) for n_fft in resolutions}

    def __call__(self, samples: tf.Tensor, recording: tf.Tensor) -> tf.Tensor:
        """The loss [] of signals [B, S]."""
        distances = [
            tf.reduce_mean(tf.abs(self._log_mel(samples, n_fft=one) - self._log_mel(recording, n_fft=one)))
            for one in self._filters
        ]
        return tf.add_n(distances) / len(distances)

    def _log_mel(self, samples: tf.Tensor, *, n_fft: int) -> tf.Tensor:
        mel = tf.matmul(magnitudes(samples, n_fft=n_fft), self._filters[n_fft])
        return tf.math.log(tf.maximum(mel, MIN_MEL))


def _resolution(spec: FeatureSpec, *, n_fft: int) -> FeatureSpec:
    bands = max(1, min(spec.n_mels, int(n_fft / MEL_BANDS_PER_FFT)))
    return dataclasses.replace(spec, n_fft=n_fft, n_mels=bands)


class GanLosses:
    """The losses that the settings ask for."""

    def __init__(self, config: VocoderLossConfig, *, spec: FeatureSpec):
        self._config, self._mel = config, MelLoss(spec, resolutions=config.mel_resolutions)

    def of_discriminators(self, real: Sequence[Judgement], fake: Sequence[Judgement]) -> tf.Tensor:
        return discriminator_loss(real, fake, kind=self._config.adversarial)

    def of_mels(self, samples: tf.Tensor, recording: tf.Tensor) -> dict[str, tf.Tensor]:
        """The mel loss of signals [B, S] as the only term, and `loss`, weighted as in `of_generator`."""
        mel = self._mel(samples, recording)
        return {"loss": self._config.mel_weight * mel, "mel": mel}

    def of_generator(
        self, samples: tf.Tensor, recording: tf.Tensor, *, real: Sequence[Judgement], fake: Sequence[Judgement]
    ) -> dict[str, tf.Tensor]:
        """The terms, and `loss`, their weighted sum."""
        config = self._config
        terms = {
            "mel": self._mel(samples, recording),
            "adversarial": adversarial_loss(fake, kind=config.adversarial),
            "feature": feature_loss(real, fake),
        }
        weights = {"mel": config.mel_weight, "adversarial": config.adversarial_weight, "feature": config.feature_weight}
        return {"loss": tf.add_n([weights[name] * term for name, term in terms.items()]), **terms}
