"""Frequency warp: clips of training in voices that the corpus does not have.

All frequencies of a clip and of its reference are multiplied by one random factor: the pitch, and the resonances, which
depend on the length of the vocal tract. Jaitly & Hinton (2013, "Vocal tract length perturbation improves speech
recognition") do so for recognizers. Here the reference is warped by the same factor as the clip, so that the model is
trained with more voices than the corpus has.

A mel is warped in place: each band gets the value where its centre was before, interpolated between bands.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from shared.features import FeatureSpec, band_edges_hz
from trainer.model.rng import RngStream

FACTORS = 33  # that are chosen from, evenly spaced in the logarithm


class FrequencyWarp:
    """Warps mels by random factors."""

    def __init__(self, spec: FeatureSpec, *, largest: float):
        """`largest` is the largest relative change: factors are from 1 / (1 + largest) to 1 + largest."""
        factors = np.exp(np.linspace(-1.0, 1.0, FACTORS) * np.log1p(largest))
        self._matrices = np.stack([warp_matrix(spec, factor=factor) for factor in factors])

    def choose(self, clips: tf.Tensor | list[int], *, noise: RngStream) -> tf.Tensor:
        """The matrices [B, M, M] of random factors for a batch of clips, whose shape is [B]."""
        numbers = tf.cast(noise.uniform(clips) * FACTORS, tf.int32)
        return tf.gather(tf.constant(self._matrices), tf.minimum(numbers, FACTORS - 1))


def warp_mels(mel: tf.Tensor, matrices: tf.Tensor) -> tf.Tensor:
    """The mels [B, F, M] in ln magnitude, warped by matrices [B, M, M]; equal bands stay so, but for rounding."""
    return tf.einsum("bfm,bmn->bfn", mel, matrices)


def warp_matrix(spec: FeatureSpec, *, factor: float) -> np.ndarray:
    """The matrix [M, M] float32 that multiplies the frequencies of a mel [F, M] by a factor.

    Its columns have sum 1. Bands whose value would come from beyond the first or the last band get that of this band.
    """
    centres_hz, bands = band_edges_hz(spec)[1:-1], np.arange(spec.n_mels)
    places = np.interp(centres_hz / factor, centres_hz, bands)
    return np.maximum(0.0, 1.0 - np.abs(bands[:, None] - places[None, :])).astype(np.float32)
