"""Sums of mel bands compared with NumPy's, and the hashing reader compared with the bytes of its file."""

from __future__ import annotations

import hashlib
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.validation import hashing_reader
from pipelines.validation.mel_sums import MelSums

LOW, HIGH = -11.533, 12.0


def bands(mel_dtype: str) -> MelSums:
    return MelSums(n_mels=80, mel_dtype=mel_dtype, low=LOW, high=HIGH)


def as_bytes(mel: np.ndarray) -> np.ndarray:
    """The bytes of a mel at an unaligned address, as in a record."""
    return np.frombuffer(b"x" + mel.tobytes(), np.uint8)[1:]


def some_mel(dtype: str) -> np.ndarray:
    mel = np.random.default_rng(1).normal(-3, 4, (333, 80)).clip(LOW + 0.01, HIGH - 0.01)
    mel[0, :4] = 0.0, -0.0, 6e-8, -3e-6  # the last two are subnormal as float16
    return mel.astype(dtype)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_the_sums_are_those_of_numpy(dtype: str) -> None:
    mel, found = some_mel(dtype), bands(dtype)
    assert found.add(as_bytes(mel), frames=len(mel))
    assert found.add(as_bytes(mel[:7]), frames=7)
    wide = np.concatenate([mel, mel[:7]]).astype(np.float64)
    np.testing.assert_allclose(found.sums, wide.sum(axis=0), rtol=1e-13)
    np.testing.assert_allclose(found.squares, np.square(wide).sum(axis=0), rtol=1e-13)


def test_the_sums_of_float16_are_exact_so_their_order_makes_no_difference() -> None:
    mel, forward, backward = some_mel("float16"), bands("float16"), bands("float16")
    forward.add(as_bytes(mel), frames=len(mel))
    backward.add(as_bytes(mel[::-1]), frames=len(mel))
    assert forward.sums.tolist() == backward.sums.tolist()


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("value", [np.nan, -np.nan, np.inf, -np.inf, HIGH + 0.1, LOW - 0.1])
def test_a_value_that_is_not_finite_or_out_of_range_is_detected_and_not_added(dtype: str, value: float) -> None:
    mel, found = some_mel(dtype), bands(dtype)
    mel[5, 6] = value
    assert not found.add(as_bytes(mel), frames=len(mel))
    assert not found.sums.any()


@given(content=st.binary(max_size=600), steps=st.lists(st.tuples(st.integers(0, 90), st.integers(0, 200)), max_size=9))
def test_the_reader_returns_the_bytes_of_the_file_and_hashes_all_of_them(
    content: bytes, steps: list[tuple[int, int]]
) -> None:
    hashing_reader.BLOCK_BYTES, block_bytes = 64, hashing_reader.BLOCK_BYTES
    try:
        view, offset = hashing_reader.HashingReader(io.BytesIO(content)), 0
        for step, size in steps:
            offset += step
            assert view.view(offset, size).tobytes() == content[offset : offset + size]
        assert view.sha256() == hashlib.sha256(content).hexdigest()
    finally:
        hashing_reader.BLOCK_BYTES = block_bytes
