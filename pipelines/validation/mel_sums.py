"""Sums each mel band and checks the range of its values, at the speed of the memory.

NumPy converts float16 slowly: the sums would take as long as the sha256 of the same bytes. The processor's own
instruction takes a fifth of that. The sums of float16 mels are exact, so their order makes no difference.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from shared.dataset import Contract, moment_sums
from shared.records import MEL_DTYPES, NUM_MOMENTS

# Frames that are added between a load and a store of a band's sums.
FRAMES_AT_ONCE = 4


class MomentSums:
    """Sum and sum of squares per band, [M] float64 each, from the moments of mels that are not stored."""

    def __init__(self, *, n_mels: int, low: float, high: float):
        self.sums, self.squares = np.zeros((2, n_mels), np.float64)
        self._low, self._high = low, high

    def add(self, moments: np.ndarray, *, frames: int) -> bool:
        """Add a mel of `frames` frames by its moments, [N] uint8; False, adding nothing, if they are not valid."""
        values = moments.view(np.float32).reshape(NUM_MOMENTS, -1)
        if not are_moments(values, low=self._low, high=self._high):
            return False
        sums, squares = moment_sums(values, frames=frames)
        self.sums += sums
        self.squares += squares
        return True


def are_moments(values: np.ndarray, *, low: float, high: float) -> bool:
    """True if values in [low, high] can have the moments [3, M]."""
    mean, deviation, drift = values
    most = max(-low, high)
    is_sound = (low <= mean) & (mean <= high) & (deviation >= 0) & (deviation <= high - low) & (abs(drift) <= most)
    return bool(is_sound.all())


def mel_sums_for(contract: Contract, *, low: float, high: float) -> MelSums | MomentSums:
    """The accumulator for records of this contract; values in [low, high] are valid."""
    n_mels = contract.features.n_mels
    if contract.stores_mels:
        return MelSums(n_mels=n_mels, mel_dtype=contract.mel_dtype, low=low, high=high)
    return MomentSums(n_mels=n_mels, low=low, high=high)


class MelSums:
    """Sum and sum of squares per band, [M] float64 each, over all frames added."""

    def __init__(self, *, n_mels: int, mel_dtype: str, low: float, high: float):
        """Values in [low, high] are valid; low must be negative and high positive."""
        self.sums, self.squares = np.zeros((2, n_mels), np.float64)
        bits = np.int16 if mel_dtype == "float16" else np.float32
        self._low, self._high = np.array([low, high], MEL_DTYPES[mel_dtype]).view(bits).tolist()
        self._add = _compiled(mel_dtype)

    def add(self, mel: np.ndarray, *, frames: int) -> bool:
        """Add the frames of a mel, bytes as [N] uint8; False, adding nothing, if a value is not valid."""
        return self._add(mel, self._low, self._high, self.sums, self.squares)


@functools.cache
def _compiled(mel_dtype: str) -> Callable[..., bool]:
    kernel: Any = {"float16": _add_float16, "float32": _add_float32}[mel_dtype]
    return numba.njit(nogil=True, error_model="numpy", fastmath={"contract"})(
        kernel
    )  # contraction is safe: the squares are exact


def _widen(_typing: Any, bits: Any) -> Any:
    """Convert a float16, given as int16, to float32; numba has no float16, but LLVM, F16C and NEON do."""

    def generate(_context: Any, builder: Any, _signature: Any, words: Any) -> Any:
        return builder.fpext(builder.bitcast(words[0], ir.HalfType()), ir.FloatType())

    return numba.float32(numba.int16), generate


_float16: Any = intrinsic(_widen)


# A mel begins at any byte of a record. The kernels reinterpret its bytes, because compiled code needs no alignment: an
# aligned copy of each mel would take a third of the time of its sums.


def _add_float16(mel: np.ndarray, low: int, high: int, sums: np.ndarray, squares: np.ndarray) -> bool:
    # As integers, the bits of float16 grow with the magnitude; infinities and NaN are largest. Read as unsigned, the
    # bits of negative numbers are above all others; read as signed, below. (`max` would not be vectorised.)
    lowest, highest = np.uint16(0), np.int16(-32768)
    flat = mel.view(np.int16)
    for i in range(flat.size):
        each = flat[i]
        if np.uint16(each) > lowest:
            lowest = np.uint16(each)
        if each > highest:
            highest = each
    if lowest > np.uint16(low) or highest > np.int16(high):
        return False
    bits = flat.reshape(-1, len(sums))
    frames, bands = bits.shape
    whole = frames - frames % FRAMES_AT_ONCE
    for f in range(0, whole, FRAMES_AT_ONCE):
        for m in range(bands):
            of_band, of_squares = sums[m], squares[m]
            for i in range(FRAMES_AT_ONCE):
                value = np.float64(_float16(bits[f + i, m]))
                of_band += value
                of_squares += value * value
            sums[m], squares[m] = of_band, of_squares
    for f in range(whole, frames):
        for m in range(bands):
            value = np.float64(_float16(bits[f, m]))
            sums[m] += value
            squares[m] += value * value
    return True


def _add_float32(mel: np.ndarray, low: float, high: float, sums: np.ndarray, squares: np.ndarray) -> bool:
    flat = mel.view(np.float32)
    outside = 0
    for each in flat:
        outside += 0 if (low <= each) & (each <= high) else 1  # False for NaN too
    if outside:
        return False
    values = flat.reshape(-1, len(sums))
    frames, bands = values.shape
    for f in range(frames):
        for m in range(bands):
            value = np.float64(values[f, m])
            sums[m] += value
            squares[m] += value * value
    return True
