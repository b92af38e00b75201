"""Quality measures of a recording for the manifest: level, clipping, silence, SNR, bandwidth and an audio hash.

All together take a quarter of the time of decoding and mel (`make bench`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy.fft

from preprocess.audio import Signal
from preprocess.check_config import HASH_BITS
from shared.features import hann

# Version of these estimators; a new one makes builds measure again.
QUALITY_VERSION = 1

# Power of a signal of digital silence, -120 dB.
SILENT_POWER = 1e-12

# A frame this far below the loud frames is a pause.
PAUSE_DB = 40.0
MAX_SNR_DB = 100.0

# Bandwidth: the number of spectra, their length, and the bins per group; a group this far below the loudest is empty.
SPECTRUM_FRAMES, SPECTRUM_FFT, GROUP_BINS = 32, 1024, 8
BAND_EDGE_DB = 65.0
QUANTISATION_POWER = 1e-11

# The hash of a recording: which of two neighbouring cells in time is louder, for 8 bands and 16 pairs of cells.
HASH_BANDS = 8
HASH_CELLS = HASH_BITS // HASH_BANDS + 1


class Quality(NamedTuple):
    """Measures of one recording; names and units are those of the manifest's columns."""

    peak: float
    rms_db: float
    clipped_fraction: float
    dc_offset: float
    silence_fraction: float
    snr_db: float
    bandwidth_hz: float
    audio_hash: str


def measure_quality(decoded: Signal, *, resampled: Signal, mel: np.ndarray, hop_samples: int) -> Quality:
    """Measure a recording.

    Args:
        decoded: the signal as decoded; level, clipping and offset are measured on it.
        resampled: the signal at the rate of the mel.
        mel: [F, M] ln magnitudes.
    """
    samples = decoded.samples
    peak = max(float(samples.max()), -float(samples.min()))
    powers = frame_powers(resampled.samples, hop_samples=hop_samples)
    return Quality(
        peak=peak,
        rms_db=10 * math.log10(max(float(np.dot(samples, samples)) / len(samples), SILENT_POWER)),
        clipped_fraction=clipped_fraction(samples, peak=peak),
        dc_offset=abs(float(samples.mean())),
        silence_fraction=silence_fraction(powers),
        snr_db=snr_db(powers),
        bandwidth_hz=bandwidth_hz(resampled, powers=powers, hop_samples=hop_samples),
        audio_hash=audio_hash(mel),
    )


def frame_powers(samples: np.ndarray, *, hop_samples: int) -> np.ndarray:
    """Mean square of consecutive, non-overlapping frames of `hop_samples`, [S // hop] float32."""
    frames = samples[: len(samples) // hop_samples * hop_samples].reshape(-1, hop_samples)
    return np.einsum("fs,fs->f", frames, frames) / np.float32(hop_samples)


def clipped_fraction(samples: np.ndarray, *, peak: float) -> float:
    """The share of samples within a thousandth of the peak: a clean recording touches it once or twice."""
    if peak == 0:
        return 0.0
    edge = np.float32(0.999 * peak)
    return (np.count_nonzero(samples >= edge) + np.count_nonzero(samples <= -edge)) / len(samples)


def silence_fraction(powers: np.ndarray) -> float:
    """The share of frames 40 dB or more below the loud ones (their 95th percentile)."""
    if len(powers) == 0 or powers.max() <= SILENT_POWER:
        return 1.0
    loud = np.percentile(powers, 95)
    return float(np.mean(powers <= max(loud * 10 ** (-PAUSE_DB / 10), SILENT_POWER)))


def snr_db(powers: np.ndarray) -> float:
    """Estimate the ratio of speech to noise: the mean power above the mean power of the quietest tenth.

    Similar to NIST's STNR, which measures the noise in pauses. For a clip without a pause it is an underestimate.
    Frames of digital silence are ignored.
    """
    audible = np.sort(powers[powers > SILENT_POWER])
    if len(audible) == 0:
        return 0.0
    noise = float(audible[: max(1, len(audible) // 10)].mean())
    speech = max(float(audible.mean()) - noise, SILENT_POWER)
    return min(10 * math.log10(speech / noise), MAX_SNR_DB)


def bandwidth_hz(signal: Signal, *, powers: np.ndarray, hop_samples: int) -> float:
    """The highest frequency with signal: 4,000 Hz for telephone speech, whatever the sample rate of its file.

    A band of about 170 Hz has signal if the loudest of 32 spectra in it is at most 65 dB below the loudest band.
    """
    usable = len(signal.samples) - SPECTRUM_FFT
    if usable < 0 or len(powers) == 0 or powers.max() <= SILENT_POWER:
        return 0.0  # too little signal to measure
    loud = np.flatnonzero(powers > powers.max() * 1e-4)
    chosen = loud[np.linspace(0, len(loud) - 1, min(SPECTRUM_FRAMES, len(loud))).astype(int)]
    starts = np.minimum(chosen * hop_samples, usable)
    frames = signal.samples[starts[:, None] + np.arange(SPECTRUM_FFT)] * _WINDOW
    spectrum = scipy.fft.rfft(frames, axis=-1)[:, 1:]
    power = (spectrum.real**2 + spectrum.imag**2).max(axis=0).reshape(-1, GROUP_BINS).mean(axis=1)
    floor = max(power.max() * 10 ** (-BAND_EDGE_DB / 10), QUANTISATION_POWER * _WINDOW_POWER)
    above = np.flatnonzero(power > floor)
    highest = above[-1] + 1 if len(above) else 0
    return float(highest * GROUP_BINS / SPECTRUM_FFT * signal.rate_hz)


_WINDOW = hann(SPECTRUM_FFT)
_WINDOW_POWER = float(np.square(_WINDOW).sum())


def audio_hash(mel: np.ndarray) -> str:
    """Perceptual hash of a recording, 128 bits as hexadecimal digits.

    A difference hash (known from images) of the mel, pooled to 8 bands by 17 cells of time. Copies in another format,
    gain or rate differ in a few bits; two recordings of one sentence by one speaker differ in tens of bits.
    """
    F, M = mel.shape
    cells = np.arange(HASH_CELLS) * F // HASH_CELLS
    in_time = np.add.reduceat(mel, cells, axis=0) / np.maximum(np.diff(cells, append=F), 1)[:, None]
    pooled = np.add.reduceat(in_time, np.arange(HASH_BANDS) * M // HASH_BANDS, axis=1)
    return np.packbits(pooled[1:] > pooled[:-1]).tobytes().hex()
