"""Attention, feed-forward and the pre-norm blocks made of them.

Masks are True where attention is allowed, and broadcast to [B, 1, queries, keys].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, ParamSpec, TypeVar

import keras
import tensorflow as tf

from trainer.config.model_sizes import Stack
from trainer.model.positions import Positions, turned
from trainer.model.rng import Branch, Noise

P = ParamSpec("P")
R = TypeVar("R")

# The scores of forbidden keys; large, yet finite, so that a query without any allowed key gives some average and
# not NaN. Scores are masked in float32 in every precision: float16 ends at 65,504.
FORBIDDEN = -1e9


class KeysValues(NamedTuple):
    """Projected memory, [B, keys, H, D / H] each."""

    keys: tf.Tensor
    values: tf.Tensor


class Recipe(NamedTuple):
    """What the blocks of all stacks have in common."""

    dropout: float
    dtype: keras.DTypePolicy
    rotary: bool = False
    rematerialise: bool = False  # what a block computes between its input and output is computed again for gradients


class Attention(keras.layers.Layer):
    """Multi-head scaled dot-product attention (Vaswani et al., 2017), softmax in float32.

    Written out because under TensorFlow Keras has no other: `keras.ops.dot_product_attention` refuses
    flash_attention=True there and computes these same products. XLA fuses scale, mask and softmax. The
    weights are wanted too, for guided attention. What long clips then take of memory, rematerialisation gives back.
    """

    def __init__(self, stack: Stack, *, name: str, dtype: keras.DTypePolicy):
        super().__init__(name=name, dtype=dtype, autocast=False)  # rotations stay float32
        self._heads, self._width = stack.heads, stack.width
        self._query, self._key, self._value, self._output = (
            keras.layers.Dense(stack.width, use_bias=False, name=part, dtype=dtype)
            for part in ("query", "key", "value", "output")
        )

    def project(self, memory: tf.Tensor, rotation: tf.Tensor | None = None) -> KeysValues:
        """Keys and values of a memory [B, keys, D']."""
        with keras.name_scope(self.name):  # a weight's name is made of the scopes it was built in
            return KeysValues(turned(self._split(self._key(memory)), rotation), self._split(self._value(memory)))

    def call(
        self, x: tf.Tensor, memory: KeysValues, mask: tf.Tensor, rotation: tf.Tensor | None = None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Attend from x [B, queries, D].

        Returns:
            [B, queries, D] and the weights [B, H, queries, keys] float32.
        """
        query = turned(self._split(self._query(x)), rotation) * (self._width // self._heads) ** -0.5
        scores = tf.cast(tf.einsum("bqhd,bkhd->bhqk", query, memory.keys), tf.float32)
        weights = tf.nn.softmax(tf.where(mask, scores, FORBIDDEN))
        mixed = tf.einsum("bhqk,bkhd->bqhd", tf.cast(weights, memory.values.dtype), memory.values)
        return self._output(tf.reshape(mixed, [tf.shape(x)[0], -1, self._width])), weights

    def _split(self, projected: tf.Tensor) -> tf.Tensor:
        return tf.reshape(projected, [tf.shape(projected)[0], -1, self._heads, self._width // self._heads])


class FeedForward(keras.layers.Layer):
    """Two dense layers with GELU between them."""

    def __init__(self, width: int, *, name: str, dtype: keras.DTypePolicy):
        super().__init__(name=name, dtype=dtype)
        self._expand = keras.layers.Dense(4 * width, activation="gelu", name="expand", dtype=dtype)
        self._contract = keras.layers.Dense(width, name="contract", dtype=dtype)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return self._contract(self._expand(x))


class _Block(keras.layers.Layer):
    """What both kinds of block have: self-attention and feed-forward, each after a norm."""

    def __init__(self, stack: Stack, recipe: Recipe, *, name: str):
        super().__init__(name=name, dtype=recipe.dtype, autocast=False)
        self._recipe, dtype = recipe, recipe.dtype
        self._self_attention = Attention(stack, name="self_attention", dtype=dtype)
        self._self_norm = norm("self_norm", dtype=dtype)
        self._feed_forward = FeedForward(stack.width, name="feed_forward", dtype=dtype)
        self._feed_forward_norm = norm("feed_forward_norm", dtype=dtype)

    def _attend_itself(
        self, x: tf.Tensor, mask: tf.Tensor, rotation: tf.Tensor | None, noise: Noise | None
    ) -> tf.Tensor:
        normed = self._self_norm(x)
        attended, _ = self._self_attention(
            normed, self._self_attention.project(normed, rotation), mask, rotation=rotation
        )
        return x + self._drop(attended, noise)

    def _feed(self, x: tf.Tensor, noise: Noise | None) -> tf.Tensor:
        return x + self._drop(self._feed_forward(self._feed_forward_norm(x)), noise)

    def _drop(self, x: tf.Tensor, noise: Noise | None) -> tf.Tensor:
        return x if noise is None else noise.dropout(x, rate=self._recipe.dropout)

    def _computed_again(self, body: Callable[P, R]) -> Callable[P, R]:
        return keras.remat(body) if self._recipe.rematerialise else body


class Block(_Block):
    """Pre-norm residual block of an encoder."""

    def call(
        self, x: tf.Tensor, mask: tf.Tensor, *, rotation: tf.Tensor | None, noise: Noise | None = None
    ) -> tf.Tensor:
        """x [B, queries, D] over itself under `mask`."""
        branch = Branch(noise)

        def body(x: tf.Tensor) -> tf.Tensor:
            draws = branch.begin()
            return self._feed(self._attend_itself(x, mask, rotation, draws), draws)

        return self._computed_again(body)(x)


class MemoryBlock(_Block):
    """Pre-norm residual block of a decoder, which attends to a memory between the two."""

    def __init__(self, stack: Stack, recipe: Recipe, *, name: str):
        super().__init__(stack, recipe, name=name)
        self.memory_attention = Attention(stack, name="memory_attention", dtype=recipe.dtype)
        self._memory_norm = norm("memory_norm", dtype=recipe.dtype)

    def call(
        self,
        x: tf.Tensor,
        mask: tf.Tensor,
        memory: KeysValues,
        memory_mask: tf.Tensor,
        *,
        rotation: tf.Tensor | None,
        noise: Noise | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """x [B, queries, D] over itself under `mask` and over the memory; also the weights on the memory."""
        branch = Branch(noise)

        def body(x: tf.Tensor, keys: tf.Tensor, values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            draws = branch.begin()
            x = self._attend_itself(x, mask, rotation, draws)
            return self._rest(x, KeysValues(keys, values), memory_mask, draws)

        return self._computed_again(body)(x, *memory)

    def remember(self, memory: tf.Tensor) -> KeysValues:
        """Project a memory [B, keys, D] for all steps."""
        with keras.name_scope(self.name):
            return self.memory_attention.project(memory)

    def step(
        self,
        x: tf.Tensor,
        cache: KeysValues,
        position: tf.Tensor,
        memory: KeysValues,
        memory_mask: tf.Tensor,
        *,
        rotation: tf.Tensor | None,
    ) -> tuple[tf.Tensor, KeysValues, tf.Tensor]:
        """One new position x [B, 1, D] after those in the cache [B, N, H, D / H]."""
        normed = self._self_norm(x)
        new = self._self_attention.project(normed, rotation)
        numbers = tf.range(tf.shape(cache.keys)[1])
        here = (numbers == position)[None, :, None, None]
        cache = KeysValues(*(tf.where(here, one, old) for one, old in zip(new, cache, strict=True)))
        seen = (numbers <= position)[None, None, None, :]
        attended, _ = self._self_attention(normed, cache, seen, rotation=rotation)
        x, weights = self._rest(x + attended, memory, memory_mask, None)
        return x, cache, weights

    def _rest(
        self, x: tf.Tensor, memory: KeysValues, memory_mask: tf.Tensor, noise: Noise | None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        attended, weights = self.memory_attention(self._memory_norm(x), memory, memory_mask)
        return self._feed(x + self._drop(attended, noise), noise), weights


class Encoder(keras.layers.Layer):
    """A stack of blocks over a sequence of which all is seen, and a norm."""

    def __init__(self, stack: Stack, recipe: Recipe, *, name: str):
        super().__init__(name=name, dtype=recipe.dtype, autocast=False)
        self._positions = Positions(stack, rotary=recipe.rotary)
        self._blocks = [Block(stack, recipe, name=f"block_{index}") for index in range(stack.layers)]
        self._norm = norm("norm", dtype=recipe.dtype)

    def call(self, x: tf.Tensor, mask: tf.Tensor, noise: Noise | None = None) -> tf.Tensor:
        """x [B, N, D] with keys allowed by `mask`."""
        numbers = tf.range(x.shape[1])
        x, rotation = self._positions.added(x, numbers), self._positions.rotation(numbers)
        for block in self._blocks:
            x = block(x, mask, rotation=rotation, noise=noise)
        return self._norm(x)


def norm(name: str, *, dtype: keras.DTypePolicy) -> keras.layers.LayerNormalization:
    """Layer normalisation over the width."""
    return keras.layers.LayerNormalization(epsilon=1e-5, name=name, dtype=dtype)


def key_mask(lengths: tf.Tensor, size: tf.Tensor | int) -> tf.Tensor:
    """[B, 1, 1, size]: keys within their lengths [B]."""
    return tf.sequence_mask(lengths, size)[:, None, None, :]


def causal_mask(size: tf.Tensor | int) -> tf.Tensor:
    """[1, 1, size, size]: each query sees itself and what came before."""
    numbers = tf.range(size)
    return (numbers[:, None] >= numbers[None, :])[None, None]
