"""The fundamental frequency of each frame of a mel, by WORLD's estimators (github.com/mmorise/World) through pyworld.

dio      Morise, Kawahara, Katayose: Fast and reliable F0 estimation method based on the period extraction of vocal fold
         vibration of singing voice and speech, 2009
harvest  Morise: Harvest: a high-performance fundamental frequency estimator from speech signals, 2017

StoneMask, of the same authors, refines what either finds.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import math

import numpy as np

from shared.errors import UserError
from shared.features import FeatureSpec

MIN_PITCH_HZ, MAX_PITCH_HZ = 65.0, 800.0
_DISTRIBUTIONS = ("pyworld-prebuilt", "pyworld")  # either has the module


def check_pyworld() -> None:
    """Raise UserError unless pyworld is installed."""
    if importlib.util.find_spec("pyworld") is None:
        raise UserError("pitch is found by pyworld, which is not installed: pip install 'myxtts[pitch]'")


def pyworld_version() -> str:
    """The version of pyworld with the name of its distribution, or `none`."""
    for name in _DISTRIBUTIONS:
        try:
            return f"{name} {importlib.metadata.version(name)}"
        except importlib.metadata.PackageNotFoundError:
            continue
    return "none"


def frame_pitch(samples: np.ndarray, *, spec: FeatureSpec, method: str) -> np.ndarray:
    """Estimate the fundamental frequency in the middle of each frame of a mel, [F] float32 in Hz, 0 without voice.

    Args:
        samples: [S] float32 at the spec's rate, as many as its mel needs at least.
        method: `dio` or `harvest`.
    """
    # WORLD's estimates are a hop apart, the first at the first sample. Silence before puts one in each frame's middle.
    hop, rate_hz = spec.hop_samples, spec.sample_rate_hz
    middle = spec.n_fft // 2 - spec.pad_samples  # of the first frame
    hops = math.ceil(2 * rate_hz / MIN_PITCH_HZ / hop) + 1  # WORLD finds no voice in the first and last two periods
    padded = np.pad(samples.astype(np.float64), (hops * hop - middle, hops * hop))
    rough_hz, times_s = _rough_pitch(padded, rate_hz=rate_hz, period_ms=1000 * hop / rate_hz, method=method)
    refined_hz = _refined_pitch(padded, rough_hz=rough_hz, times_s=times_s, rate_hz=rate_hz)
    return refined_hz[hops : hops + spec.num_frames(len(samples))].astype(np.float32)


def _rough_pitch(samples: np.ndarray, *, rate_hz: int, period_ms: float, method: str) -> tuple[np.ndarray, np.ndarray]:
    """Estimates in Hz, and their times in seconds."""
    import pyworld

    low, high = MIN_PITCH_HZ, MAX_PITCH_HZ
    if method == "harvest":
        return pyworld.harvest(samples, rate_hz, f0_floor=low, f0_ceil=high, frame_period=period_ms)
    return pyworld.dio(samples, rate_hz, f0_floor=low, f0_ceil=high, frame_period=period_ms)


def _refined_pitch(samples: np.ndarray, *, rough_hz: np.ndarray, times_s: np.ndarray, rate_hz: int) -> np.ndarray:
    import pyworld

    refined_hz = pyworld.stonemask(samples, rough_hz, times_s, rate_hz)
    return np.where(refined_hz > 0, refined_hz, rough_hz)  # it answers 0 above a twelfth of the rate
