"""Sums of each mel band, and whether its values are in range, at the speed of the memory.

NumPy has no fast way from float16 to wider numbers: by it this would take as long as the sha256 of the same bytes, by
the processor's own instruction it takes a fifth of that. The sums of float16 mels are exact, so their order makes no
difference.
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

# The sums of a band are fetched and put back once for so many frames.
FRAMES_AT_ONCE = 4


class MomentSums:
    """The like from the moments of mels that are not stored: sum and sum of squares of their frames."""

    def __init__(self, *, n_mels: int, low: float, high: float):
        self.sums, self.squares = np.zeros((2, n_mels), np.float64)
        self._low, self._high = low, high

    def add(self, moments: np.ndarray, *, frames: int) -> bool:
        """Add so many frames by their moments' bytes, [N] uint8; False, and nothing, where one is not sound."""
        values = moments.view(np.float32).reshape(NUM_MOMENTS, -1)
        if not are_moments(values, low=self._low, high=self._high):
            return False
        sums, squares = moment_sums(values, frames=frames)
        self.sums += sums
        self.squares += squares
        return True


def are_moments(values: np.ndarray, *, low: float, high: float) -> bool:
    """Whether values in [low, high] can have the moments [3, M]."""
    mean, deviation, drift = values
    most = max(-low, high)
    is_sound = (low <= mean) & (mean <= high) & (deviation >= 0) & (deviation <= high - low) & (abs(drift) <= most)
    return bool(is_sound.all())


def mel_sums_for(contract: Contract, *, low: float, high: float) -> MelSums | MomentSums:
    """What adds up the records of a dataset; values in [low, high] are sound."""
    n_mels = contract.features.n_mels
    if contract.stores_mels:
        return MelSums(n_mels=n_mels, mel_dtype=contract.mel_dtype, low=low, high=high)
    return MomentSums(n_mels=n_mels, low=low, high=high)


class MelSums:
    """Per band, over all frames added: sum and sum of squares, [M] float64 each."""

    def __init__(self, *, n_mels: int, mel_dtype: str, low: float, high: float):
        """Values in [low, high] are sound; low is below zero and high above it."""
        self.sums, self.squares = np.zeros((2, n_mels), np.float64)
        bits = np.int16 if mel_dtype == "float16" else np.float32
        self._low, self._high = np.array([low, high], MEL_DTYPES[mel_dtype]).view(bits).tolist()
        self._add = _compiled(mel_dtype)

    def add(self, mel: np.ndarray, *, frames: int) -> bool:
        """Add the frames of a mel, its bytes as [N] uint8; False, and nothing is added, where a value is not sound."""
        return self._add(mel, self._low, self._high, self.sums, self.squares)


@functools.cache
def _compiled(mel_dtype: str) -> Callable[..., bool]:
    kernel: Any = {"float16": _add_float16, "float32": _add_float32}[mel_dtype]
    return numba.njit(nogil=True, error_model="numpy", fastmath={"contract"})(kernel)  # the squares are exact


def _widen(_typing: Any, bits: Any) -> Any:
    """The float32 of a float16 that is given as int16: numba knows no float16, but LLVM does, and F16C and NEON too."""

    def generate(_context: Any, builder: Any, _signature: Any, words: Any) -> Any:
        return builder.fpext(builder.bitcast(words[0], ir.HalfType()), ir.FloatType())

    return numba.float32(numba.int16), generate


_float16: Any = intrinsic(_widen)


# In a record a mel begins at any byte. The view of its numbers is made here, where nobody asks for their alignment and
# the processor needs none: a copy of each mel would cost a third of its sums.


def _add_float16(mel: np.ndarray, low: int, high: int, sums: np.ndarray, squares: np.ndarray) -> bool:
    # As integers the bits of float16 grow with the magnitude, infinities and NaN last: unsigned, those of negative
    # numbers lie above all others, and signed below. (`max` would not be compiled to a maximum of several at a time.)
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
        outside += 0 if (low <= each) & (each <= high) else 1  # NaN is in no range
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
