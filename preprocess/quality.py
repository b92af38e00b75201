"""Quality measures of a recording for the manifest: level, clipping, silence, SNR, bandwidth and an audio hash.

All together take a third of the time of decoding and mel (`make bench`).
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
import scipy.fft

from preprocess.audio import Signal
from preprocess.check_config import HASH_BITS
from shared.features import hann

# Version of these estimators; a new one makes builds measure again.
QUALITY_VERSION = 3

# Power of a signal of digital silence, -120 dB.
SILENT_POWER = 1e-12

# A frame this far below the loud ones is a pause. Loud is the level that a twentieth of the frames reaches, but at most
# LOUD_FRAMES of them (0.2 s): a word in a minute of silence is less than a twentieth of it.
PAUSE_DB = 40.0
LOUD_FRACTION, LOUD_FRAMES = 0.05, 20
MAX_SNR_DB = 100.0

# Bandwidth: the number of spectra, their length, and the bins per group; a group this far below the loudest is empty,
# and one that is louder in pauses than this far below is noise.
SPECTRUM_FRAMES, SPECTRUM_FFT, GROUP_BINS = 32, 1024, 8
BAND_EDGE_DB = 65.0
QUANTISATION_POWER = 1e-11
NOISE_MARGIN_DB = 9.0

# The hash of a recording: which of two neighbouring cells in time is louder, for 8 bands and 16 pairs of cells. A cell
# is two parts long, and overlaps its neighbours by half. What is this far below the loud parts (in ln magnitude, 35 dB)
# has one level, since it is noise in many copies; one frame in HASH_STEP tells what is loud.
HASH_BANDS = 8
HASH_PARTS = HASH_BITS // HASH_BANDS + 2
HASH_RANGE_LN, HASH_LOUD_FRACTION, HASH_STEP = 4.0, 0.02, 8


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
        resampled: the signal at the rate of the mel; silence, noise and bandwidth are measured on it, without offset.
        mel: [F, M] ln magnitudes.
    """
    samples = decoded.samples
    highest, lowest = float(samples.max()), float(samples.min())
    offset = samples.mean()
    centred = Signal(resampled.samples - resampled.samples.mean(), resampled.rate_hz)
    powers = frame_powers(centred.samples, hop_samples=hop_samples)
    return Quality(
        peak=max(highest, -lowest),
        rms_db=10 * math.log10(max(float(np.dot(samples, samples)) / len(samples), SILENT_POWER)),
        clipped_fraction=clipped_fraction(samples, highest=highest, lowest=lowest),
        dc_offset=abs(float(offset)),
        silence_fraction=silence_fraction(powers),
        snr_db=snr_db(powers),
        bandwidth_hz=bandwidth_hz(centred, powers=powers, hop_samples=hop_samples),
        audio_hash=audio_hash(mel),
    )


def frame_powers(samples: np.ndarray, *, hop_samples: int) -> np.ndarray:
    """Mean square of consecutive, non-overlapping frames of `hop_samples`, [S // hop] float32."""
    frames = samples[: len(samples) // hop_samples * hop_samples].reshape(-1, hop_samples)
    return np.einsum("fs,fs->f", frames, frames) / np.float32(hop_samples)


def clipped_fraction(samples: np.ndarray, *, highest: float, lowest: float) -> float:
    """The share of samples within a thousandth of the highest or of the lowest one.

    A clean recording touches each once or twice. Lossy coding and resampling after the clipping round its edges off,
    so that it is not seen any more.
    """
    above = np.count_nonzero(samples >= np.float32(0.999 * highest)) if highest > 0 else 0
    below = np.count_nonzero(samples <= np.float32(0.999 * lowest)) if lowest < 0 else 0
    return (above + below) / len(samples)


def loud_power(powers: np.ndarray) -> float:
    """The power that the loud frames reach: a twentieth of the frames, but at most LOUD_FRAMES."""
    loud = max(1, min(int(LOUD_FRACTION * len(powers)), LOUD_FRAMES))
    return float(np.partition(powers, len(powers) - loud)[len(powers) - loud])


def silence_fraction(powers: np.ndarray) -> float:
    """The share of frames 40 dB or more below the loud ones."""
    if len(powers) == 0 or powers.max() <= SILENT_POWER:
        return 1.0
    return float(np.mean(powers <= max(loud_power(powers) * 10 ** (-PAUSE_DB / 10), SILENT_POWER)))


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

    A band of about 170 Hz has signal if the loudest of 32 spectra in it is at most 65 dB below the loudest band, and
    at least 9 dB above the loudest of 32 spectra of pauses, if there are any: what pauses hold too is noise.
    """
    usable = len(signal.samples) - SPECTRUM_FFT
    if usable < 0 or len(powers) == 0 or powers.max() <= SILENT_POWER:
        return 0.0  # too little signal to measure
    spectrum = functools.partial(_loudest_spectrum, signal.samples, hop_samples=hop_samples)
    power = spectrum(np.flatnonzero(powers > powers.max() * 1e-4))
    floor = np.full(len(power), max(power.max() * 10 ** (-BAND_EDGE_DB / 10), QUANTISATION_POWER * _WINDOW_POWER))
    pauses = _pauses(powers, hop_samples=hop_samples)
    if len(pauses):
        floor = np.maximum(floor, spectrum(pauses) * 10 ** (NOISE_MARGIN_DB / 10))
    above = np.flatnonzero(power > floor)
    highest = above[-1] + 1 if len(above) else 0
    return float(highest * GROUP_BINS / SPECTRUM_FFT * signal.rate_hz)


def _pauses(powers: np.ndarray, *, hop_samples: int) -> np.ndarray:
    """The frames at which a spectrum begins that holds pauses alone."""
    quiet = powers <= loud_power(powers) * 10 ** (-PAUSE_DB / 10)
    frames = -(-SPECTRUM_FFT // hop_samples)
    return np.flatnonzero(np.convolve(quiet, np.ones(frames, np.int64), mode="valid") == frames)


def _loudest_spectrum(samples: np.ndarray, frames: np.ndarray, *, hop_samples: int) -> np.ndarray:
    """The loudest power in each band of SPECTRUM_FRAMES spectra that begin at these frames, [B] float32."""
    chosen = frames[np.linspace(0, len(frames) - 1, min(SPECTRUM_FRAMES, len(frames))).astype(int)]
    starts = np.minimum(chosen * hop_samples, len(samples) - SPECTRUM_FFT)
    spectrum = scipy.fft.rfft(
        np.lib.stride_tricks.sliding_window_view(samples, SPECTRUM_FFT)[starts] * _WINDOW, axis=-1
    )[:, 1:]
    power = np.square(spectrum.real)
    power += np.square(spectrum.imag)
    return power.max(axis=0).reshape(-1, GROUP_BINS).mean(axis=1)


_WINDOW = hann(SPECTRUM_FFT).astype(np.float32)
_WINDOW_POWER = float(np.square(hann(SPECTRUM_FFT)).sum())


def audio_hash(mel: np.ndarray) -> str:
    """Perceptual hash of a recording, 128 bits as hexadecimal digits.

    A difference hash (known from images) of the mel, pooled to 8 bands by 17 cells of time. Copies in another format,
    gain or rate differ in a few bits; recordings of different sentences differ in tens of bits.
    """
    F, M = mel.shape
    some = mel[::HASH_STEP].ravel()
    loudest = int((1 - HASH_LOUD_FRACTION) * len(some))
    audible = np.maximum(mel, np.partition(some, loudest)[loudest] - np.float32(HASH_RANGE_LN))
    starts = np.arange(HASH_PARTS) * F // HASH_PARTS
    parts = np.add.reduceat(audible, starts, axis=0) / np.maximum(np.diff(starts, append=F), 1)[:, None]
    pooled = np.add.reduceat(parts[1:] + parts[:-1], np.arange(HASH_BANDS) * M // HASH_BANDS, axis=1)
    return np.packbits(pooled[1:] > pooled[:-1]).tobytes().hex()
