"""Snake activations (Ziyin, Hartwig & Ueda, 2020, arXiv:2006.08195), alone and between resamplings against aliases.

BigVGAN (Lee et al., 2023, arXiv:2206.04658) doubles the rate before each activation and halves it afterwards, with a
low-pass filter of 12 taps each time.
"""

from __future__ import annotations

import functools

import keras
import numpy as np
import tensorflow as tf

TAPS = 12
RATE = 2
UP_REACH = 3  # samples of the input on each side
DOWN_PADDING = (5, 6)


class Snake(keras.layers.Layer):
    """x + sin²(αx) / β for [B, T, C], with α and β of each channel; Snake's β is its α."""

    def __init__(self, channels: int, *, has_beta: bool, is_logarithmic: bool, name: str):
        super().__init__(name=name)
        self._is_logarithmic = is_logarithmic
        initial = "zeros" if is_logarithmic else "ones"
        self.alpha = self.add_weight(shape=(channels,), initializer=initial, name="alpha")
        self.beta = self.add_weight(shape=(channels,), initializer=initial, name="beta") if has_beta else None
        self.built = True

    def call(self, x: tf.Tensor) -> tf.Tensor:
        alpha = tf.convert_to_tensor(self.alpha)
        beta = alpha if self.beta is None else tf.convert_to_tensor(self.beta)
        if self._is_logarithmic:
            alpha, beta = tf.exp(alpha), tf.exp(beta)
        return x + tf.square(tf.sin(x * alpha)) / (beta + 1e-9)


class AntiAliasedSnake(keras.layers.Layer):
    """Snake at twice the rate, [B, T, C] to [B, T, C]."""

    reach = 6

    def __init__(self, channels: int, *, has_beta: bool, is_logarithmic: bool, name: str):
        super().__init__(name=name)
        self.act = Snake(channels, has_beta=has_beta, is_logarithmic=is_logarithmic, name=f"{name}.act")
        self.built = True

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return downsample(self.act(upsample(x)))


@functools.cache
def low_pass_filter() -> np.ndarray:
    """The filter of both resamplings [TAPS] float32: a Kaiser-windowed sinc, cut off at half the lower rate.

    The window's beta follows Kaiser's formulas, which `scipy.signal.kaiser_atten` and `kaiser_beta` document.
    """
    cutoff, half_width = 0.5 / RATE, 0.6 / RATE
    attenuation_db = 2.285 * (TAPS // 2 - 1) * np.pi * 4 * half_width + 7.95
    beta = 0.1102 * (attenuation_db - 8.7)  # of more than 50 dB
    times = np.arange(-TAPS // 2, TAPS // 2) + 0.5
    taps = 2 * cutoff * np.kaiser(TAPS, beta) * np.sinc(2 * cutoff * times)
    return (taps / taps.sum()).astype(np.float32)


def upsample(x: tf.Tensor) -> tf.Tensor:
    """Twice as many samples, [B, 2 T, C]; both ends continue with their last value."""
    taps = RATE * low_pass_filter()[::-1]
    even_and_odd = np.stack([np.append(taps[::2], 0.0), np.append(0.0, taps[1::2])], 1)
    both = _filtered(_continued(x, UP_REACH, UP_REACH), even_and_odd, stride=1)
    return tf.reshape(tf.transpose(both, [0, 1, 3, 2]), [tf.shape(x)[0], -1, x.shape[2]])


def downsample(x: tf.Tensor) -> tf.Tensor:
    """Every second sample after the filter, [B, ⌈T / 2⌉, C]; both ends continue with their last value."""
    return _filtered(_continued(x, *DOWN_PADDING), low_pass_filter()[:, None], stride=RATE)[..., 0]


def _filtered(x: tf.Tensor, filters: np.ndarray, *, stride: int) -> tf.Tensor:
    """Each channel of x [B, T, C] filtered by filters [taps, N]: [B, T', C, N]."""
    kernel = np.tile(filters[None, :, None], [1, 1, x.shape[2], 1]).astype(np.float32)
    both = tf.nn.depthwise_conv2d(x[:, None], kernel, [1, stride, stride, 1], "VALID")[:, 0]
    return tf.reshape(both, [tf.shape(x)[0], -1, x.shape[2], filters.shape[1]])


def _continued(x: tf.Tensor, before: int, after: int) -> tf.Tensor:
    return tf.concat([tf.repeat(x[:, :1], before, 1), x, tf.repeat(x[:, -1:], after, 1)], 1)
