"""Mel cepstral distance: how far the spectral envelopes of two mels are apart, without their level.

Kubichek (1993, "Mel-cepstral distance measure for objective speech quality assessment"): 10/ln 10 · sqrt(2 Σ Δc²) over
the coefficients after the zeroth one. The coefficients here are those of the cosine series of the log-mel over its
bands; a mel cepstrum from a vocoder's analysis gives other figures.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy.fft

from trainer.evaluation.dtw import euclidean_distances, warping_path

COEFFICIENTS = 13
DB = 10.0 * math.sqrt(2.0) / math.log(10.0)


def mel_cepstra(mel: np.ndarray) -> np.ndarray:
    """Coefficients 1 to 13 [F, 13] of the cosine series of a mel [F, M] in ln magnitude."""
    bands = mel.shape[1]
    series = scipy.fft.dct(mel.astype(np.float32), type=2, norm="ortho", axis=1) * math.sqrt(2.0 / bands)
    return series[:, 1 : 1 + COEFFICIENTS]


def cepstral_distances_db(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The mel cepstral distance of every pair of frames of mels [F, M] and [G, M], [F, G] in dB."""
    return DB * euclidean_distances(mel_cepstra(one), mel_cepstra(other))


class Aligned(NamedTuple):
    """Two mels along their best alignment."""

    path: np.ndarray  # [K, 2] frames of both
    distance_db: float  # mean of the mel cepstral distance; a step in both mels counts twice


def align_mels(one: np.ndarray, other: np.ndarray) -> Aligned:
    """Align mels [F, M] and [G, M] in ln magnitude by their cepstra."""
    distances = cepstral_distances_db(one, other)
    path = warping_path(distances)
    steps = path - np.pad(path[:-1], [(1, 0), (0, 0)], constant_values=-1)
    return Aligned(path, float(np.average(distances[path[:, 0], path[:, 1]], weights=steps.sum(1))))
