"""The optional steps between decoding and mel, as `shared/processing.py` names them."""

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
    """Trim the edges, bring to a loudness, keep below a peak: what is asked for, in this order."""
    if steps.trim_db is not None:
        signal = trim(signal, below_loudest_db=steps.trim_db, margin_s=steps.trim_margin_s)
    if steps.loudness_lufs is not None:
        signal = normalize_loudness(signal, lufs=steps.loudness_lufs)
    if steps.max_peak is not None:
        signal = limit_peak(signal, max_peak=steps.max_peak)
    return signal


def trim(signal: Signal, *, below_loudest_db: float, margin_s: float) -> Signal:
    """Without the edges that lie so far below the loudest 10 ms, but for a margin."""
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
    """At the wanted integrated loudness (ITU-R BS.1770-4, by pyloudnorm); silence stays as it is."""
    one_block = int(LOUDNESS_BLOCK_S * signal.rate_hz) + 1
    heard = np.resize(signal.samples, max(len(signal.samples), one_block))
    found = _meter(signal.rate_hz).integrated_loudness(heard)
    if not np.isfinite(found):
        return signal
    gain = np.float32(10 ** ((lufs - found) / 20))
    return signal._replace(samples=signal.samples * gain)


def limit_peak(signal: Signal, *, max_peak: float) -> Signal:
    """Scaled down where it is louder than `max_peak`."""
    peak = float(np.abs(signal.samples).max(initial=0))  # resampling leaves nothing of one sample
    return signal if peak <= max_peak else signal._replace(samples=signal.samples * np.float32(max_peak / peak))


@functools.lru_cache(maxsize=8)
def _meter(rate_hz: int) -> pyloudnorm.Meter:
    import pyloudnorm  # takes scipy.signal with it: 0.6 s of each worker, where no loudness is asked for

    return pyloudnorm.Meter(rate_hz, block_size=LOUDNESS_BLOCK_S)
