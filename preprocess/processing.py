"""The optional processing between decoding and mel: trimming, loudness, peak limit (`shared/processing.py`)."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from preprocess.audio import Signal
from preprocess.quality import frame_powers
from shared.processing import Processing

if TYPE_CHECKING:
    import pyloudnorm

TRIM_HOP_S = 0.01

# ITU-R BS.1770's gating block; a shorter clip is repeated until it fills one.
LOUDNESS_BLOCK_S = 0.4


def process(signal: Signal, *, steps: Processing) -> Signal:
    """Trim the edges, normalise the loudness, limit the peak: the steps that are on, in this order."""
    if steps.trim_db is not None:
        signal = trim(signal, below_loudest_db=steps.trim_db, margin_s=steps.trim_margin_s)
    if steps.loudness_lufs is not None:
        signal = normalize_loudness(signal, lufs=steps.loudness_lufs)
    if steps.max_peak is not None:
        signal = limit_peak(signal, max_peak=steps.max_peak)
    return signal


def trim(signal: Signal, *, below_loudest_db: float, margin_s: float) -> Signal:
    """Cut the edges that are this far below the loudest 10 ms, except for a margin."""
    hop = max(1, int(TRIM_HOP_S * signal.rate_hz))
    powers = frame_powers(signal.samples, hop_samples=hop)
    if len(powers) == 0:
        return signal
    (loud,) = np.nonzero(powers > powers.max() * 10 ** (-below_loudest_db / 10))
    if len(loud) == 0:  # digital silence
        return signal
    margin = int(margin_s * signal.rate_hz)
    start = max(0, int(loud[0]) * hop - margin)
    stop = (int(loud[-1]) + 1) * hop + margin
    return signal._replace(samples=signal.samples[start:stop])


def normalize_loudness(signal: Signal, *, lufs: float) -> Signal:
    """Scale to an integrated loudness (ITU-R BS.1770-4, by pyloudnorm); silence is returned unchanged."""
    one_block = int(LOUDNESS_BLOCK_S * signal.rate_hz) + 1
    repeated = np.resize(signal.samples, max(len(signal.samples), one_block))
    measured = _meter(signal.rate_hz).integrated_loudness(repeated)
    if not np.isfinite(measured):
        return signal
    gain = np.float32(10 ** ((lufs - measured) / 20))
    return signal._replace(samples=signal.samples * gain)


def limit_peak(signal: Signal, *, max_peak: float) -> Signal:
    """Scale down a signal whose peak is above `max_peak`."""
    peak = float(np.abs(signal.samples).max(initial=0))  # resampling leaves nothing of one sample
    return signal if peak <= max_peak else signal._replace(samples=signal.samples * np.float32(max_peak / peak))


@functools.lru_cache(maxsize=8)
def _meter(rate_hz: int) -> pyloudnorm.Meter:
    import pyloudnorm  # imports scipy.signal, 0.6 s for each worker even without loudness normalisation

    return pyloudnorm.Meter(rate_hz, block_size=LOUDNESS_BLOCK_S)
