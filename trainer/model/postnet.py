"""The post-net: causal convolutions that correct a mel, as a whole or part by part."""

from __future__ import annotations

import keras
import tensorflow as tf

from trainer.model.attention import build_for
from trainer.model.layers import norm

POSTNET_LAYERS = 5
POSTNET_KERNEL = 5


class PostNet(keras.layers.Layer):
    """The residual convolutions of Tacotron 2 (Shen et al., 2018), but causal and with layer norm."""

    def __init__(self, width: int, *, n_mels: int, dtype: keras.DTypePolicy):
        super().__init__(name="postnet", dtype=dtype)
        self._width, self._n_mels = width, n_mels
        self._convolutions = [
            keras.layers.Conv1D(width, POSTNET_KERNEL, padding="causal", name=f"convolution_{i}", dtype=dtype)
            for i in range(POSTNET_LAYERS - 1)
        ]
        self._norms = [norm(f"norm_{i}", dtype=dtype) for i in range(POSTNET_LAYERS - 1)]
        self._output = keras.layers.Conv1D(
            n_mels, POSTNET_KERNEL, padding="causal", kernel_initializer="zeros", name="output", dtype=dtype
        )

    def build(self, *_: object) -> None:
        first, *others = self._convolutions
        build_for(self._n_mels, first)
        build_for(self._width, *others, *self._norms, self._output)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        """The correction to a standardised mel [B, F, M]."""
        for convolution, layer_norm in zip(self._convolutions, self._norms, strict=True):
            x = tf.tanh(layer_norm(convolution(x)))
        return self._output(x)

    def empty_cache(self, batch: int) -> tuple[tf.Tensor, ...]:
        """The last inputs of each convolution before the first frame, [B, kernel - 1, width] each: causal padding."""
        widths = [self._output.filters, *(one.filters for one in self._convolutions)]
        return tuple(tf.zeros([batch, POSTNET_KERNEL - 1, width], self.compute_dtype) for width in widths)

    def part(self, x: tf.Tensor, cache: tuple[tf.Tensor, ...]) -> tuple[tf.Tensor, tuple[tf.Tensor, ...]]:
        """`call` for the frames x [B, F, M] that follow those in the cache, and the cache after them."""
        x, inputs = tf.cast(x, self.compute_dtype), []
        for index, convolution in enumerate((*self._convolutions, self._output)):
            past = tf.concat([cache[index], x], 1)
            inputs.append(past[:, -(POSTNET_KERNEL - 1) :])
            x = convolution(past)[:, POSTNET_KERNEL - 1 :]
            if index < len(self._norms):
                x = tf.tanh(self._norms[index](x))
        return x, tuple(inputs)
