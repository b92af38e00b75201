"""Transformer layers: feed-forward, pre-norm encoder and decoder blocks, a stack of blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, ParamSpec, TypeVar

import keras
import tensorflow as tf

from trainer.config.model_sizes import StackDims
from trainer.model.attention import Attention, KeysValues, StepKeysValues, build_for
from trainer.model.positions import Positions
from trainer.model.rng import RngFork, RngStream

P = ParamSpec("P")
R = TypeVar("R")


class LayerConfig(NamedTuple):
    """Settings that the blocks of all stacks share."""

    dropout: float
    dtype: keras.DTypePolicy
    rotary: bool = False
    rematerialise: bool = False  # recompute a block's activations in the backward pass


class FeedForward(keras.layers.Layer):
    """Two dense layers with GELU between them."""

    def __init__(self, width: int, *, name: str, dtype: keras.DTypePolicy):
        super().__init__(name=name, dtype=dtype)
        self._width = width
        self._expand = keras.layers.Dense(4 * width, activation="gelu", name="expand", dtype=dtype)
        self._contract = keras.layers.Dense(width, name="contract", dtype=dtype)

    def build(self, *_: object) -> None:
        build_for(self._width, self._expand)
        build_for(4 * self._width, self._contract)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return self._contract(self._expand(x))


class _Block(keras.layers.Layer):
    """Base of both kinds of block: self-attention and feed-forward, each after a norm."""

    def __init__(self, stack: StackDims, layer_config: LayerConfig, *, name: str):
        super().__init__(name=name, dtype=layer_config.dtype, autocast=False)
        self._layer_config, self._width, dtype = layer_config, stack.width, layer_config.dtype
        self._self_attention = Attention(stack, name="self_attention", dtype=dtype)
        self._self_norm = norm("self_norm", dtype=dtype)
        self._feed_forward = FeedForward(stack.width, name="feed_forward", dtype=dtype)
        self._feed_forward_norm = norm("feed_forward_norm", dtype=dtype)

    def build(self, *_: object) -> None:
        build_for(self._width, self._self_attention, self._self_norm, self._feed_forward, self._feed_forward_norm)

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

    def build(self, *_: object) -> None:
        super().build()
        build_for(self._width, self.memory_attention, self._memory_norm)

    def build_projection(self) -> None:
        """Create the weights of `project_memory` before `build`; they are named after the scope of the caller."""
        with keras.name_scope(self.name):
            self.memory_attention.build_projection()

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
        self._norm, self._width = norm("norm", dtype=layer_config.dtype), stack.width

    def build(self, *_: object) -> None:
        build_for(self._width, *self._blocks, self._norm)

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
