"""Attention and its masks, against loops over every query and key."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from trainer.config.model_sizes import StackDims
from trainer.model.attention import Attention, causal_mask, key_mask
from trainer.model.decoder import text_alignment

B, Q, D, H = 2, 5, 128, 2


def by_loops(attention: Attention, x: np.ndarray, *, allowed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Attention over x itself; allowed [B, queries, keys]."""
    matrices = {variable.path.split("/")[-2]: variable.numpy() for variable in attention.variables}
    query, key, value = (np.reshape(x @ matrices[name], [B, Q, H, D // H]) for name in ("query", "key", "value"))
    weights, mixed = np.zeros([B, H, Q, Q]), np.zeros([B, Q, H, D // H])
    for b, h, q in np.ndindex(B, H, Q):
        keys = [k for k in range(Q) if allowed[b, q, k]]
        exponents = np.exp([query[b, q, h] @ key[b, k, h] / np.sqrt(D // H) for k in keys])
        for k, weight in zip(keys, exponents / exponents.sum(), strict=True):
            weights[b, h, q, k] = weight
            mixed[b, q, h] += weight * value[b, k, h]
    return mixed.reshape(B, Q, D) @ matrices["output"], weights


@pytest.mark.parametrize("kind", ["causal", "lengths"])
def test_a_query_attends_to_the_allowed_keys_and_to_no_other(kind: str) -> None:
    lengths = [5, 2]
    if kind == "causal":
        mask = causal_mask(Q)
        allowed = np.array([[[key <= query for key in range(Q)] for query in range(Q)]] * B)
    else:
        mask = key_mask(tf.constant(lengths), Q)
        allowed = np.array([[[key < length for key in range(Q)]] * Q for length in lengths])
    attention = Attention(StackDims(D, 1), name="attention", dtype=keras.DTypePolicy("float32"))
    x = np.random.default_rng(1).normal(size=[B, Q, D]).astype(np.float32)
    attended, weights = attention(x, attention.project(x), mask)
    expected, expected_weights = by_loops(attention, x.astype(np.float64), allowed=allowed)
    np.testing.assert_allclose(weights, expected_weights, atol=1e-5)
    np.testing.assert_allclose(attended, expected, atol=1e-4)


def test_a_query_without_any_key_gives_numbers() -> None:
    attention = Attention(StackDims(D, 1), name="attention", dtype=keras.DTypePolicy("mixed_bfloat16"))
    x = tf.random.stateless_normal([B, Q, D], [1, 2])
    attended, weights = attention(x, attention.project(x), key_mask(tf.constant([0, 0]), Q))
    assert np.isfinite(tf.cast(attended, tf.float32)).all()
    np.testing.assert_allclose(weights, 1 / Q, atol=1e-6)


def test_the_alignment_is_the_mean_over_blocks_and_heads_of_how_each_divides_the_text() -> None:
    """The latents, which come first, are none of it; a head that looks at little else than them counts as any other."""
    latents, tokens, rng = 3, 4, np.random.default_rng(2)
    weights = [rng.dirichlet(np.ones(latents + tokens), [B, heads, Q]).astype(np.float32) for heads in (1, 3)]
    weights[1][:, 0] *= np.float32([1.0] * latents + [0.01] * tokens)
    wanted = np.zeros([B, Q, tokens])
    for block in weights:
        for head in range(block.shape[1]):
            text = block[:, head, :, latents:].astype(np.float64)
            wanted += text / text.sum(-1, keepdims=True) / block.shape[1] / len(weights)
    found = text_alignment(list(map(tf.constant, weights)), text_size=tokens)
    np.testing.assert_allclose(found, wanted, atol=1e-3)
    np.testing.assert_allclose(found.numpy().sum(-1), 1.0, atol=1e-3)
