"""Whether two recordings are copies of one: their mels, laid over each other, are nearly the same picture.

Copies differ in gain, in coding, in noise, by what was cut off at an end, or in speed. So the comparison takes the
bands of speech alone, ends 35 dB below the loud parts, ignores each band's mean, and tries all shifts, and the speed
that brings both to one length. Speed that was changed by resampling moves the frequencies too.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np
import scipy.fft

from shared.features import FeatureSpec, mel_filterbank

PROOF_VERSION = 1  # another one where another pair may be proven

BANDS_SHARE = 0.75  # of the mel bands, from the lowest
RANGE_LN = 4.0  # below the loud parts, in ln magnitude: 35 dB
LOUD_PERCENTILE = 98
MAX_SPEED_CHANGE = 0.06
MIN_OVERLAP = 0.75  # of the longer recording
MIN_FRAMES = 8

# Most candidates are refused by pictures of a sixteenth of the size.
COARSE = 4
COARSE_MARGIN = 0.2

# The correlation that proves a copy: more for a word, which another voice can say alike, than for a sentence. Of 5,000
# clips of one word each, no word twice, the two that are most alike reach 0.96; of sentences, no two reach 0.7.
WORD_S, SENTENCE_S = 1.0, 2.0
WORD_CORRELATION, SENTENCE_CORRELATION = 0.97, 0.85


def are_copies(one: np.ndarray, other: np.ndarray, *, spec: FeatureSpec) -> bool:
    """Whether two mels, [F, M] ln magnitudes, are of one recording."""
    shorter_s = min(len(one), len(other)) / spec.frames_per_second
    needed = float(np.interp(shorter_s, [WORD_S, SENTENCE_S], [WORD_CORRELATION, SENTENCE_CORRELATION]))
    if coarse_correlation(one, other, spec=spec) < needed - COARSE_MARGIN:
        return False
    return correlation(one, other, spec=spec) >= needed


def correlation(one: np.ndarray, other: np.ndarray, *, spec: FeatureSpec) -> float:
    """The largest correlation of two mels over all shifts and speeds; -1 if they cannot be laid over each other."""
    return _correlation(one, other, centres_hz=_centres_hz(spec), min_frames=MIN_FRAMES)


def coarse_correlation(one: np.ndarray, other: np.ndarray, *, spec: FeatureSpec) -> float:
    """The correlation of pictures of a sixteenth of the size: at most 0.17 smaller for copies, in less time."""
    centres_hz = _centres_hz(spec)[COARSE // 2 :: COARSE][: spec.n_mels // COARSE]
    return _correlation(_pooled(one), _pooled(other), centres_hz=centres_hz, min_frames=MIN_FRAMES // COARSE)


def _pooled(mel: np.ndarray) -> np.ndarray:
    """The mean of each block of COARSE frames by COARSE bands."""
    F, M = (size // COARSE for size in mel.shape)
    whole = mel[: F * COARSE, : M * COARSE].astype(np.float32)
    in_time = np.add.reduce([whole[start::COARSE] for start in range(COARSE)])
    pooled: np.ndarray = np.add.reduce([in_time[:, start::COARSE] for start in range(COARSE)])
    return pooled / np.float32(COARSE**2)


def _correlation(one: np.ndarray, other: np.ndarray, *, centres_hz: np.ndarray, min_frames: int) -> float:
    if min(len(one), len(other)) < min_frames:
        return -1.0
    bands = int(BANDS_SHARE * len(centres_hz))
    first, second = _audible(one), _audible(other)
    scaled = _scaled(first, second, centres_hz=centres_hz)
    return max(_best(first[:, :bands], picture[:, :bands], min_frames=min_frames) for picture in scaled)


def _audible(mel: np.ndarray) -> np.ndarray:
    """The mel with everything far below its loud parts at one level, [F, M] float32."""
    wide = mel.astype(np.float32)
    return np.maximum(wide, np.percentile(wide, LOUD_PERCENTILE) - np.float32(RANGE_LN))


def _scaled(one: np.ndarray, other: np.ndarray, *, centres_hz: np.ndarray) -> Iterator[np.ndarray]:
    """The other mel at its own speed, and at the speed that gives it the length of the first one."""
    yield other
    speed = len(other) / len(one)
    if len(one) != len(other) and abs(speed - 1) <= MAX_SPEED_CHANGE:
        bands = np.interp(centres_hz / speed, centres_hz, np.arange(len(centres_hz)))
        frames = np.linspace(0, len(other) - 1, len(one))
        yield _interpolated(_interpolated(other, frames).T, bands).T


def _interpolated(rows: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The rows at fractional places."""
    below = np.minimum(places.astype(int), max(len(rows) - 2, 0))
    share = (places - below)[:, None].astype(np.float32)
    return rows[below] * (1 - share) + rows[np.minimum(below + 1, len(rows) - 1)] * share


@functools.lru_cache(maxsize=8)
def _centres_hz(spec: FeatureSpec) -> np.ndarray:
    """The frequency that each band weighs most, [M]."""
    weights = mel_filterbank(spec)
    return weights.argmax(axis=int(weights.shape[0] == spec.n_mels)) * spec.sample_rate_hz / spec.n_fft


def _best(one: np.ndarray, other: np.ndarray, *, min_frames: int) -> float:
    """The correlation at the shift where it is largest."""
    needed = max(MIN_OVERLAP * max(len(one), len(other)), min_frames)
    shifts = np.arange(-(len(other) - 1), len(one))  # of `other` against `one`
    overlaps = np.minimum(len(one), len(other) + shifts) - np.maximum(shifts, 0)
    allowed = np.flatnonzero(overlaps >= needed)
    if not len(allowed):
        return -1.0
    products = _products(one - one.mean(axis=0), other - other.mean(axis=0))
    return max(_at_shift(one, other, int(shifts[place])) for place in allowed[np.argsort(products[allowed])[-3:]])


def _products(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The sum over all bands of the product of both at each shift, [len(one) + len(other) - 1]."""
    length = scipy.fft.next_fast_len(len(one) + len(other) - 1, real=True)
    spectrum = (scipy.fft.rfft(one, length, axis=0) * scipy.fft.rfft(other, length, axis=0).conj()).sum(axis=1)
    products = scipy.fft.irfft(spectrum, length)
    return np.concatenate([products[len(products) - (len(other) - 1) :], products[: len(one)]])


def _at_shift(one: np.ndarray, other: np.ndarray, shift: int) -> float:
    """The correlation of what overlaps, without the mean of each band."""
    first, second = one[max(shift, 0) :], other[max(-shift, 0) :]
    frames = min(len(first), len(second))
    first, second = first[:frames] - first[:frames].mean(axis=0), second[:frames] - second[:frames].mean(axis=0)
    norm = float(np.sqrt(np.square(first).sum() * np.square(second).sum()))
    return float((first * second).sum()) / norm if norm > 0 else -1.0
