"""Discriminators: they learn to tell a vocoder's samples from recordings.

Multi-period ones fold the signal into rows of a prime period (HiFi-GAN: Kong, Kim & Bae, 2020, arXiv:2010.05646).
Multi-scale ones see the signal and means of neighbouring samples (MelGAN: Kumar et al., 2019, arXiv:1910.06711). Their
layers have the sizes of HiFi-GAN's. All have weight norm here; HiFi-GAN's first scale has spectral norm.
Multi-resolution ones look at magnitudes of short Fourier transforms (UnivNet: Jang et al., 2021, arXiv:2106.07889).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import keras
import tensorflow as tf

from trainer.config.vocoder_train_config import DiscriminatorConfig

SLOPE = 0.1  # of the leaky rectifier
MIN_POWER = 1e-9

# of the layers over scales
SCALE_KERNELS = (15, 41, 41, 41, 41, 41, 5)  # samples
SCALE_STRIDES = (1, 2, 2, 4, 4, 1, 1)
SCALE_GROUPS = (1, 4, 16, 16, 16, 16, 1)


class Judgement(NamedTuple):
    """What a discriminator says of signals."""

    scores: tf.Tensor  # [B, …], high for what it takes for recordings
    features: tuple[tf.Tensor, ...]  # the outputs of its layers
    weight: float = 1.0  # of the discriminator in the generator's loss


class NormedConvolution(keras.layers.Layer):
    """A convolution over [B, H, W, in] whose filters are g v / |v| (Salimans & Kingma, 2016, arXiv:1602.07868).

    With `groups`, each of so many parts of the outputs sees a part of the inputs. On the CPU, TensorFlow has the
    gradient of such convolutions only in programs that XLA compiles.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        *,
        kernel: tuple[int, int],
        strides: tuple[int, int] = (1, 1),
        groups: int = 1,
        name: str,
    ):
        super().__init__(name=name)
        self._strides = strides
        shape = (*kernel, inputs // groups, outputs)
        self.direction = self.add_weight(shape=shape, initializer="he_normal", name="direction")
        self.gain = self.add_weight(shape=(outputs,), initializer="ones", name="gain")
        self.bias = self.add_weight(shape=(outputs,), initializer="zeros", name="bias")
        self.gain.assign(tf.norm(tf.reshape(self.direction, [-1, outputs]), axis=0))
        self.built = True

    def call(self, x: tf.Tensor) -> tf.Tensor:
        direction = tf.convert_to_tensor(self.direction)
        weight = direction * (self.gain * tf.math.rsqrt(tf.reduce_sum(tf.square(direction), [0, 1, 2])))
        return tf.nn.conv2d(x, weight, self._strides, "SAME") + self.bias


class Discriminator(keras.layers.Layer):
    """Convolutions over an image of the signal."""

    def __init__(self, layers: list[NormedConvolution], *, name: str, weight: float = 1.0):
        super().__init__(name=name)
        *self._hidden, self._last = layers
        self._loss_weight = weight
        self.built = True

    def image(self, samples: tf.Tensor) -> tf.Tensor:
        """The image [B, H, W, 1] of signals [B, S]."""
        raise NotImplementedError

    def call(self, samples: tf.Tensor) -> Judgement:
        x, features = self.image(samples), []
        for layer in self._hidden:
            x = tf.nn.leaky_relu(layer(x), SLOPE)
            features.append(x)
        scores = self._last(x)
        return Judgement(scores, (*features, scores), self._loss_weight)


class PeriodDiscriminator(Discriminator):
    """Sees every `period`-th sample in a column."""

    def __init__(self, period: int, *, channels: tuple[int, ...]):
        name, widths = f"period.{period}", (1, *channels)
        layers = [
            NormedConvolution(
                widths[index],
                widths[index + 1],
                kernel=(5, 1),
                strides=(3 if index < len(channels) - 1 else 1, 1),
                name=f"{name}.{index}",
            )
            for index in range(len(channels))
        ]
        super().__init__([*layers, NormedConvolution(widths[-1], 1, kernel=(3, 1), name=f"{name}.last")], name=name)
        self._period = period

    def image(self, samples: tf.Tensor) -> tf.Tensor:
        missing = -samples.shape[1] % self._period
        padded = tf.pad(samples, [[0, 0], [0, missing]], "REFLECT")
        return tf.reshape(padded, [-1, padded.shape[1] // self._period, self._period, 1])


class ScaleDiscriminator(Discriminator):
    """Sees the signal at `1 / scale` of its rate; `scale` is a power of two."""

    def __init__(self, scale: int, *, channels: tuple[int, ...]):
        name, widths = f"scale.{scale}", (1, *channels)
        layers = [
            NormedConvolution(
                widths[index],
                widths[index + 1],
                kernel=(SCALE_KERNELS[index], 1),
                strides=(SCALE_STRIDES[index], 1),
                groups=math.gcd(SCALE_GROUPS[index], widths[index], widths[index + 1]),
                name=f"{name}.{index}",
            )
            for index in range(len(channels))
        ]
        super().__init__([*layers, NormedConvolution(widths[-1], 1, kernel=(3, 1), name=f"{name}.last")], name=name)
        self._halvings = scale.bit_length() - 1

    def image(self, samples: tf.Tensor) -> tf.Tensor:
        signal = samples[..., None]
        for _ in range(self._halvings):
            signal = tf.nn.avg_pool1d(signal, 4, 2, "SAME")
        return signal[:, :, None]


class ResolutionDiscriminator(Discriminator):
    """Sees the magnitudes of a short Fourier transform."""

    def __init__(self, n_fft: int, *, channels: int, weight: float):
        name = f"resolution.{n_fft}"
        layers = [
            NormedConvolution(
                1 if index == 0 else channels,
                channels,
                kernel=(3, 9 if index < 4 else 3),
                strides=(1, 2 if 0 < index < 4 else 1),
                name=f"{name}.{index}",
            )
            for index in range(5)
        ]
        last = NormedConvolution(channels, 1, kernel=(3, 3), name=f"{name}.last")
        super().__init__([*layers, last], name=name, weight=weight)
        self._n_fft = n_fft

    def image(self, samples: tf.Tensor) -> tf.Tensor:
        return magnitudes(samples, n_fft=self._n_fft)[..., None]


def magnitudes(samples: tf.Tensor, *, n_fft: int) -> tf.Tensor:
    """The magnitudes [B, F, n_fft / 2 + 1] of signals [B, S], four frames to a Hann window, reflected at the ends."""
    padding = min(n_fft // 2, samples.shape[1] - 1)
    padded = tf.pad(samples, [[0, 0], [padding, padding]], "REFLECT")
    padded = tf.pad(padded, [[0, 0], [0, max(0, n_fft - padded.shape[1])]])
    frames = tf.signal.frame(padded, n_fft, n_fft // 4) * tf.signal.hann_window(n_fft)
    spectrum = tf.signal.rfft(frames)
    power = tf.square(tf.math.real(spectrum)) + tf.square(tf.math.imag(spectrum))
    return tf.sqrt(tf.maximum(power, MIN_POWER))


def make_discriminators(config: DiscriminatorConfig) -> list[Discriminator]:
    """Discriminators with new weights."""
    return [
        *(PeriodDiscriminator(period, channels=config.period_channels) for period in config.periods),
        *(ScaleDiscriminator(scale, channels=config.scale_channels) for scale in config.scales),
        *(
            ResolutionDiscriminator(n_fft, channels=config.resolution_channels, weight=config.resolution_weight)
            for n_fft in config.resolutions
        ),
    ]
