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
    angles = np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, magnitudes.shape)
    phases = np.exp(1j * angles).astype(np.complex64)
    previous = np.zeros_like(phases)
    for _ in range(iterations):
        rebuilt = _analyse(_synthesise(magnitudes * phases, spec=spec), spec=spec)
        phases = _unit(rebuilt + MOMENTUM * (rebuilt - previous))
        previous = rebuilt
    signal = _synthesise(magnitudes * phases, spec=spec)
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
    pieces = scipy.fft.irfft(spectrum, spec.n_fft, axis=-1, workers=THREADS).astype(np.float32) * window(spec)
    return _overlap_add(pieces, hop=spec.hop_samples) / _window_power(len(pieces), spec)


@functools.lru_cache(maxsize=16)  # an entry is as large as a clip
def _window_power(frames: int, spec: FeatureSpec) -> np.ndarray:
    squared = np.broadcast_to(np.square(window(spec)), (frames, spec.n_fft))
    return np.maximum(_overlap_add(squared, hop=spec.hop_samples), 1e-3)


def _overlap_add(pieces: np.ndarray, *, hop: int) -> np.ndarray:
    """Sum of frames [F, n], each `hop` samples after the one before."""
    frames, size = pieces.shape
    total = np.zeros((frames - 1) * hop + size, np.float32)
    for start in range(0, size, hop):  # every hop-wide column of all pieces at once
        column = pieces[:, start : start + hop]
        rows = np.zeros((frames, hop), np.float32)
        rows[:, : column.shape[1]] = column
        flat = rows.reshape(-1)[: len(total) - start]
        total[start : start + len(flat)] += flat
    return total


def _analyse(signal: np.ndarray, *, spec: FeatureSpec) -> np.ndarray:
    frames = np.lib.stride_tricks.sliding_window_view(signal, spec.n_fft)[:: spec.hop_samples]
    return scipy.fft.rfft(frames * window(spec), axis=-1, workers=THREADS)


def _unit(values: np.ndarray) -> np.ndarray:
    return values / np.maximum(np.abs(values), 1e-12)
