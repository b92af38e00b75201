"""Transformer layers: attention, feed-forward, pre-norm encoder and decoder blocks, masks.

Masks are True where attention is allowed, and broadcast to [B, 1, queries, keys].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, ParamSpec, TypeVar

import keras
import tensorflow as tf

from trainer.config.model_sizes import StackDims
from trainer.model.positions import Positions, apply_rotary
from trainer.model.rng import RngFork, RngStream

P = ParamSpec("P")
R = TypeVar("R")

# The scores of forbidden keys; large, yet finite, so that a query without any allowed key gives some average and
# not NaN. Scores are masked in float32 in every precision, because float16 ends at 65,504.
FORBIDDEN = -1e9


class KeysValues(NamedTuple):
    """Projected keys and values, [B, keys, H, D / H] each."""

    keys: tf.Tensor
    values: tf.Tensor


class StepKeysValues(NamedTuple):
    """The same as a step's products read them, so that no step transposes them.

    Transposing the keys and values of all steps before it took a third of the time of a step of 16 texts.
    """

    keys: tf.Tensor  # [B, H, D / H, keys]
    values: tf.Tensor  # [B, H, keys, D / H]

    @classmethod
    def of(cls, projected: KeysValues | StepKeysValues) -> StepKeysValues:
        """Transpose projected keys and values, unless they are transposed."""
        if isinstance(projected, StepKeysValues):
            return projected
        return cls(tf.transpose(projected.keys, [0, 2, 3, 1]), tf.transpose(projected.values, [0, 2, 1, 3]))

    def written(self, new: StepKeysValues, *, position: tf.Tensor) -> StepKeysValues:
        """With the keys and values of one position, [B, H, D / H, 1] and [B, H, 1, D / H], in the place of others.

        XLA copies the whole cache for a scatter; a selection costs no more and needs no transposed copy.
        """
        here = tf.range(tf.shape(self.keys)[3]) == position
        return StepKeysValues(tf.where(here, new.keys, self.keys), tf.where(here[:, None], new.values, self.values))


_AXES = {KeysValues: ("bkhd", "bkhd"), StepKeysValues: ("bhdk", "bhkd")}  # of keys and values, for einsum


class LayerConfig(NamedTuple):
    """Settings that the blocks of all stacks share."""

    dropout: float
    dtype: keras.DTypePolicy
    rotary: bool = False
    rematerialise: bool = False  # recompute a block's activations in the backward pass


class Attention(keras.layers.Layer):
    """Multi-head scaled dot-product attention (Vaswani et al., 2017), softmax in float32.

    Written out because Keras has no faster one under TensorFlow: there, `keras.ops.dot_product_attention` refuses
    flash_attention=True and computes these same products. XLA fuses scale, mask and softmax. The weights are needed
    for guided attention; rematerialisation saves the memory that they take in long clips.
    """

    def __init__(self, stack: StackDims, *, name: str, dtype: keras.DTypePolicy):
        super().__init__(name=name, dtype=dtype, autocast=False)  # autocasting would round rotations
        self._heads, self._width = stack.heads, stack.width
        self._query, self._key, self._value, self._output = (
            keras.layers.Dense(stack.width, use_bias=False, name=part, dtype=dtype)
            for part in ("query", "key", "value", "output")
        )

    def project(self, memory: tf.Tensor, rotation: tf.Tensor | None = None) -> KeysValues:
        """Keys and values of an encoder's output `memory` [B, keys, D']."""
        with keras.name_scope(self.name):  # weights are named after the scopes in which they are built
            return KeysValues(apply_rotary(self._split(self._key(memory)), rotation), self._split(self._value(memory)))

    def call(
        self,
        x: tf.Tensor,
        memory: KeysValues | StepKeysValues,
        mask: tf.Tensor,
        rotation: tf.Tensor | None = None,
        bias: tf.Tensor | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Attend from x [B, queries, D].

        Args:
            bias: [B, 1, 1, keys] float32, added to the scores.

        Returns:
            [B, queries, D] and the weights [B, H, queries, keys] float32.
        """
        query = apply_rotary(self._split(self._query(x)), rotation) * (self._width // self._heads) ** -0.5
        keys, values = _AXES[type(memory)]
        scores = tf.cast(tf.einsum(f"bqhd,{keys}->bhqk", query, memory.keys), tf.float32)
        scores = scores if bias is None else scores + bias
        weights = tf.nn.softmax(tf.where(mask, scores, FORBIDDEN))
        mixed = tf.einsum(f"bhqk,{values}->bqhd", tf.cast(weights, memory.values.dtype), memory.values)
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
    """Base of both kinds of block: self-attention and feed-forward, each after a norm."""

    def __init__(self, stack: StackDims, layer_config: LayerConfig, *, name: str):
        super().__init__(name=name, dtype=layer_config.dtype, autocast=False)
        self._layer_config, dtype = layer_config, layer_config.dtype
        self._self_attention = Attention(stack, name="self_attention", dtype=dtype)
        self._self_norm = norm("self_norm", dtype=dtype)
        self._feed_forward = FeedForward(stack.width, name="feed_forward", dtype=dtype)
        self._feed_forward_norm = norm("feed_forward_norm", dtype=dtype)

    def _self_attend(
        self, x: tf.Tensor, mask: tf.Tensor, rotation: tf.Tensor | None, noise: RngStream | None
    ) -> tf.Tensor:
        normed = self._self_norm(x)
        attended, _ = self._self_attention(
            normed, self._self_attention.project(normed, rotation), mask, rotation=rotation
        )
        return x + self._drop(attended, noise)

    def _feed(self, x: tf.Tensor, noise: RngStream | None) -> tf.Tensor:
        return x + self._drop(self._feed_forward(self._feed_forward_norm(x)), noise)

    def _drop(self, x: tf.Tensor, noise: RngStream | None) -> tf.Tensor:
        return x if noise is None else noise.dropout(x, rate=self._layer_config.dropout)

    def _rematerialised(self, body: Callable[P, R]) -> Callable[P, R]:
        return keras.remat(body) if self._layer_config.rematerialise else body


class Block(_Block):
    """Pre-norm residual block of an encoder."""

    def call(
        self, x: tf.Tensor, mask: tf.Tensor, *, rotation: tf.Tensor | None, noise: RngStream | None = None
    ) -> tf.Tensor:
        """Self-attention of x [B, queries, D] under `mask`, then feed-forward."""
        fork = RngFork(noise)

        def body(x: tf.Tensor) -> tf.Tensor:
            rng = fork.begin()
            return self._feed(self._self_attend(x, mask, rotation, rng), rng)

        return self._rematerialised(body)(x)


class DecoderBlock(_Block):
    """Pre-norm residual block of a decoder: self-attention, attention to encoder outputs, feed-forward.

    The layers are named memory_attention and memory_norm, which is part of the weights' names in checkpoints.
    """

    def __init__(self, stack: StackDims, layer_config: LayerConfig, *, name: str):
        super().__init__(stack, layer_config, name=name)
        self.memory_attention = Attention(stack, name="memory_attention", dtype=layer_config.dtype)
        self._memory_norm = norm("memory_norm", dtype=layer_config.dtype)

    def call(
        self,
        x: tf.Tensor,
        mask: tf.Tensor,
        memory: KeysValues,
        memory_mask: tf.Tensor,
        *,
        rotation: tf.Tensor | None,
        noise: RngStream | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Decode x [B, queries, D] under `mask`.

        Returns:
            [B, queries, D], and the attention on the memory, [B, H, queries, keys] float32.
        """
        fork = RngFork(noise)

        def body(x: tf.Tensor, keys: tf.Tensor, values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            rng = fork.begin()
            x = self._self_attend(x, mask, rotation, rng)
            return self._attend_and_feed(x, KeysValues(keys, values), memory_mask, rng)

        return self._rematerialised(body)(x, *memory)

    def project_memory(self, memory: tf.Tensor) -> KeysValues:
        """Project encoder outputs `memory` [B, keys, D] once for all steps."""
        with keras.name_scope(self.name):
            return self.memory_attention.project(memory)

    def step(
        self,
        x: tf.Tensor,
        cache: StepKeysValues,
        position: tf.Tensor,
        memory: KeysValues | StepKeysValues,
        memory_mask: tf.Tensor,
        *,
        rotation: tf.Tensor | None,
        memory_bias: tf.Tensor | None = None,
    ) -> tuple[tf.Tensor, StepKeysValues, tf.Tensor]:
        """Decode a new position x [B, 1, D] after those in the cache, which has room for N positions.

        Args:
            memory_bias: [B, 1, 1, keys] float32, added to the scores of the memory.

        Returns:
            [B, 1, D], the grown cache, and the attention on the memory.
        """
        normed = self._self_norm(x)
        cache = cache.written(StepKeysValues.of(self._self_attention.project(normed, rotation)), position=position)
        seen = (tf.range(tf.shape(cache.keys)[3]) <= position)[None, None, None, :]
        attended, _ = self._self_attention(normed, cache, seen, rotation=rotation)
        x, weights = self._attend_and_feed(x + attended, memory, memory_mask, None, bias=memory_bias)
        return x, cache, weights

    def _attend_and_feed(
        self,
        x: tf.Tensor,
        memory: KeysValues | StepKeysValues,
        memory_mask: tf.Tensor,
        noise: RngStream | None,
        *,
        bias: tf.Tensor | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        attended, weights = self.memory_attention(self._memory_norm(x), memory, memory_mask, bias=bias)
        return self._feed(x + self._drop(attended, noise), noise), weights


class Encoder(keras.layers.Layer):
    """A stack of bidirectional blocks, and a final norm."""

    def __init__(self, stack: StackDims, layer_config: LayerConfig, *, name: str):
        super().__init__(name=name, dtype=layer_config.dtype, autocast=False)
        self._positions = Positions(stack, rotary=layer_config.rotary)
        self._blocks = [Block(stack, layer_config, name=f"block_{index}") for index in range(stack.layers)]
        self._norm = norm("norm", dtype=layer_config.dtype)

    def call(self, x: tf.Tensor, mask: tf.Tensor, noise: RngStream | None = None) -> tf.Tensor:
        """Encode x [B, N, D], attending to the keys that `mask` allows."""
        numbers = tf.range(x.shape[1])
        x, rotation = self._positions.added(x, numbers), self._positions.rotation(numbers)
        for block in self._blocks:
            x = block(x, mask, rotation=rotation, noise=noise)
        return self._norm(x)


def norm(name: str, *, dtype: keras.DTypePolicy) -> keras.layers.LayerNormalization:
    """Layer normalisation over the width."""
    return keras.layers.LayerNormalization(epsilon=1e-5, name=name, dtype=dtype)


def key_mask(lengths: tf.Tensor, size: tf.Tensor | int) -> tf.Tensor:
    """True for the first `lengths` [B] keys, [B, 1, 1, size]."""
    return tf.sequence_mask(lengths, size)[:, None, None, :]


def causal_mask(size: tf.Tensor | int) -> tf.Tensor:
    """True for keys up to the query's own position, [1, 1, size, size]."""
    numbers = tf.range(size)
    return (numbers[:, None] >= numbers[None, :])[None, None]
