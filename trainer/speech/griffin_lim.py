"""Griffin-Lim: a waveform from a mel spectrogram, with phases found by iteration.

The fast variant with momentum (Perraudin, Balazs & Søndergaard, 2013, "A fast Griffin-Lim algorithm"), on the frames of
the feature spec. It needs no training; a neural vocoder sounds better.
"""

from __future__ import annotations

import functools
import os

import numpy as np
import scipy.fft

from shared.features import FeatureSpec, mel_filterbank, window

MOMENTUM = 0.99
THREADS = min(4, os.cpu_count() or 1)  # of the transforms, which do not depend on their number


def griffin_lim(log_mel: np.ndarray, *, spec: FeatureSpec, iterations: int = 60, seed: int = 1) -> np.ndarray:
    """A waveform [S] float32 for a mel [F, M] in ln magnitude; S = F · hop with HiFi-GAN's padding."""
    magnitudes = linear_magnitudes(log_mel, spec=spec)
    angles = np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, magnitudes.shape).astype(np.float32)
    spectrum = magnitudes * np.exp(1j * angles)
    previous = np.zeros_like(spectrum)
    for _ in range(iterations):
        rebuilt = _analyse(_synthesise(spectrum, spec=spec), spec=spec)
        np.subtract(rebuilt, previous, out=previous)
        previous *= MOMENTUM
        previous += rebuilt
        spectrum, previous = _with_magnitudes(previous, magnitudes=magnitudes), rebuilt
    signal = _synthesise(spectrum, spec=spec)
    return signal[spec.pad_samples : len(signal) - spec.pad_samples]


def linear_magnitudes(log_mel: np.ndarray, *, spec: FeatureSpec) -> np.ndarray:
    """Linear magnitudes [F, n_fft // 2 + 1] float32 of a mel [F, M], by least squares, none below zero."""
    mel = np.exp(log_mel.astype(np.float32))
    mel = np.where(log_mel <= spec.log_silence, 0.0, mel)
    return np.maximum(mel @ _inverse_filterbank(spec), 0.0).astype(np.float32)


@functools.cache
def _inverse_filterbank(spec: FeatureSpec) -> np.ndarray:
    return np.linalg.pinv(mel_filterbank(spec).astype(np.float64)).astype(np.float32)


def _synthesise(spectrum: np.ndarray, *, spec: FeatureSpec) -> np.ndarray:
    """Inverse STFT of frames [F, bins]: overlap-add, divided by the sum of squared windows; padded signal."""
    pieces = scipy.fft.irfft(spectrum, spec.n_fft, axis=-1, workers=THREADS)
    pieces *= window(spec)
    signal = _overlap_add(pieces, hop=spec.hop_samples)
    signal /= _window_power(len(pieces), spec)
    return signal


@functools.lru_cache(maxsize=16)  # an entry is as large as a clip
def _window_power(frames: int, spec: FeatureSpec) -> np.ndarray:
    squared = np.broadcast_to(np.square(window(spec)), (frames, spec.n_fft))
    return np.maximum(_overlap_add(squared, hop=spec.hop_samples), 1e-3)


def _overlap_add(pieces: np.ndarray, *, hop: int) -> np.ndarray:
    """Sum of frames [F, n], each `hop` samples after the one before."""
    frames, size = pieces.shape
    rows = np.zeros((frames + (size - 1) // hop, hop), np.float32)
    for row, start in enumerate(range(0, size, hop)):  # a column of all pieces at once
        column = pieces[:, start : start + hop]
        rows[row : row + frames, : column.shape[1]] += column
    return rows.reshape(-1)[: (frames - 1) * hop + size]


def _analyse(signal: np.ndarray, *, spec: FeatureSpec) -> np.ndarray:
    frames = np.lib.stride_tricks.sliding_window_view(signal, spec.n_fft)[:: spec.hop_samples]
    return scipy.fft.rfft(frames * window(spec), axis=-1, workers=THREADS)


def _with_magnitudes(values: np.ndarray, *, magnitudes: np.ndarray) -> np.ndarray:
    """Complex values of the same phases with the given magnitudes; a product is far faster than a quotient."""
    return values * (magnitudes / np.maximum(np.abs(values), 1e-12))
