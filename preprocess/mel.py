"""The log-mel spectrogram: the one definition, in NumPy and SciPy."""

from __future__ import annotations

import functools

import numpy as np
import scipy.fft
import scipy.signal
import scipy.sparse

from shared.features import FeatureSpec, mel_filterbank


def log_mel(samples: np.ndarray, *, spec: FeatureSpec) -> np.ndarray:
    """ln of the mel magnitudes of a signal, [F, M] float32.

    Reflect padding, periodic Hann, |X| = √(re² + im² + ε), mel, ln(max(·, floor)): `mel_spectrogram` of
    jik876/hifi-gan meldataset.py, and for the other presets of their own references.

    Args:
        samples: [S] float32 at the spec's rate, full scale ±1.

    Raises:
        ValueError: fewer samples than `spec.min_samples`.
    """
    if len(samples) < spec.min_samples:
        raise ValueError(f"{len(samples)} samples, wanted {spec.min_samples} or more")
    mel = (_filters(spec) @ magnitudes(samples, spec=spec).T).T
    return np.ascontiguousarray(np.log(np.maximum(mel, np.float32(spec.floor))))


def magnitudes(samples: np.ndarray, *, spec: FeatureSpec) -> np.ndarray:
    """|X| of each frame, [F, n_fft // 2 + 1] float32."""
    spectrum = scipy.fft.rfft(frames(samples, spec=spec) * window(spec), axis=-1)
    power = np.square(spectrum.real) + np.square(spectrum.imag)
    return np.sqrt(power + np.float32(spec.power_epsilon))


def frames(samples: np.ndarray, *, spec: FeatureSpec) -> np.ndarray:
    """Overlapping frames of the reflected signal, a view [F, n_fft] float32."""
    padded = np.pad(samples.astype(np.float32, copy=False), spec.pad_samples, mode="reflect")
    return np.lib.stride_tricks.sliding_window_view(padded, spec.n_fft)[:: spec.hop_samples]


@functools.cache
def window(spec: FeatureSpec) -> np.ndarray:
    """The periodic Hann window, [n_fft] float32."""
    return scipy.signal.get_window("hann", spec.n_fft, fftbins=True).astype(np.float32)


@functools.cache
def _filters(spec: FeatureSpec) -> scipy.sparse.csr_array:
    """The filterbank, [M, n_fft // 2 + 1]; one weight in sixty is not zero.

    The sparse product costs no more time than the dense one, uses one thread, and adds in one order: the
    bytes of a shard do not depend on the number of cores or on the BLAS at hand.
    """
    return scipy.sparse.csr_array(mel_filterbank(spec).T)
