"""Multi-head attention, its keys and values, and masks.

Masks are True where attention is allowed, and broadcast to [B, 1, queries, keys].
"""

from __future__ import annotations

from typing import NamedTuple

import keras
import tensorflow as tf

from trainer.config.model_sizes import StackDims
from trainer.model.positions import apply_rotary

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

    def build(self, *_: object) -> None:
        build_for(self._width, self._query, self._key, self._value, self._output)

    def build_projection(self) -> None:
        """Create the weights of `project` before `build`; they are named after the scope of the caller."""
        with keras.name_scope(self.name):
            build_for(self._width, self._key, self._value)

    def project(self, memory: tf.Tensor, rotation: tf.Tensor | None = None) -> KeysValues:
        """Keys and values of an encoder's output `memory` [B, keys, D']."""
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
        return self._output(tf.reshape(mixed, [batch_size(x), -1, self._width])), weights

    def _split(self, projected: tf.Tensor) -> tf.Tensor:
        return tf.reshape(projected, [batch_size(projected), -1, self._heads, self._width // self._heads])


def build_for(width: int, *layers: keras.layers.Layer) -> None:
    """Create the weights of layers whose inputs have this width; a layer that has its weights is left as it is.

    Keras runs a layer that has no `build` symbolically to learn the shapes within, which took 4 s of `nano`'s 5 s.
    """
    for layer in layers:
        if not layer.built:
            layer.build((None, None, width))


def batch_size(x: tf.Tensor) -> tf.Tensor | int:
    """The size of the first axis, as a number if it is known, which needs no operation in a graph."""
    return tf.shape(x)[0] if x.shape[0] is None else x.shape[0]


def key_mask(lengths: tf.Tensor, size: tf.Tensor | int) -> tf.Tensor:
    """True for the first `lengths` [B] keys, [B, 1, 1, size]."""
    return tf.sequence_mask(lengths, size)[:, None, None, :]


def causal_mask(size: tf.Tensor | int) -> tf.Tensor:
    """True for keys up to the query's own position, [1, 1, size, size]."""
    numbers = tf.range(size)
    return (numbers[:, None] >= numbers[None, :])[None, None]
