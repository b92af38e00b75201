"""Positions of tokens and frames, against complex numbers and against what they are for."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from trainer.config.model_sizes import StackDims
from trainer.model.positions import Positions, apply_rotary, sinusoids

B, N, H, D = 2, 6, 3, 8
ROTARY = Positions(StackDims(H * D, 1), rotary=True)
X = np.random.default_rng(1).normal(size=(B, N, H, D)).astype(np.float32)


def test_rotary_positions_turn_pairs_as_complex_numbers_do() -> None:
    one = Positions(StackDims(64, 1), rotary=True).rotation(tf.range(N))
    x = np.random.default_rng(1).normal(size=(B, N, 1, 64)).astype(np.float32)
    angles = np.arange(N)[:, None] * 10_000.0 ** (-np.arange(32) / 32)
    expected = (x[..., :32] + 1j * x[..., 32:]) * np.exp(1j * angles)[None, :, None, :]
    found = apply_rotary(tf.constant(x), one).numpy()
    np.testing.assert_allclose(found[..., :32] + 1j * found[..., 32:], expected, atol=1e-5)


def test_products_of_turned_vectors_depend_on_distances_alone() -> None:
    near, far = (
        np.einsum("bqhd,bkhd->bhqk", *[apply_rotary(tf.constant(X), sinusoids(tf.range(N) + start, D))] * 2)
        for start in (0, 17)
    )
    np.testing.assert_allclose(near, far, atol=1e-4)


def test_rotary_positions_add_nothing_and_sinusoidal_ones_turn_nothing() -> None:
    added = Positions(StackDims(64, 1), rotary=False)
    x, numbers = tf.zeros([1, N, 64]), tf.range(N)
    assert (ROTARY.added(x, numbers).numpy() == 0).all()
    assert added.rotation(numbers) is None
    assert apply_rotary(x, None) is x
    expected = np.arange(N)[:, None] * 10_000.0 ** (-np.arange(32) / 32)
    np.testing.assert_allclose(added.added(x, numbers)[0], np.hstack([np.sin(expected), np.cos(expected)]), atol=1e-6)


def test_in_bfloat16_turned_vectors_are_rounded_once() -> None:
    rotation = sinusoids(tf.range(N), D)
    exact = apply_rotary(tf.cast(tf.cast(X, tf.bfloat16), tf.float32), rotation)
    rounded = apply_rotary(tf.cast(X, tf.bfloat16), rotation)
    assert rounded.dtype == tf.bfloat16
    np.testing.assert_array_equal(rounded, tf.cast(exact, tf.bfloat16))
