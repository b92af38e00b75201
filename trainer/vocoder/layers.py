"""Layers of vocoders, channels last, whose weights are the transposed ones of PyTorch's layers.

Each layer has the name that its authors' PyTorch module has, such as `resblocks.0.convs1.2`, and weights named `weight`
and `bias`. PyTorch keeps the weights of a convolution as [out, in, kernel], and of one that is transposed as
[in, out, kernel]; here all axes are in the reverse order. So `array.T` converts each weight of a checkpoint.
"""

from __future__ import annotations

import keras
import tensorflow as tf


class Convolution(keras.layers.Layer):
    """A convolution with an odd kernel over [B, T, in], padded with zeros: [B, T, out]."""

    def __init__(self, inputs: int, outputs: int, *, kernel: int, dilation: int = 1, bias: bool = True, name: str):
        super().__init__(name=name)
        self._dilation = dilation
        self.reach = dilation * (kernel - 1) // 2  # samples on each side that an output depends on
        self.weight = self.add_weight(shape=(kernel, inputs, outputs), initializer=normal(0.01), name="weight")
        self.bias = self.add_weight(shape=(outputs,), initializer="zeros", name="bias") if bias else None
        self.built = True

    def call(self, x: tf.Tensor) -> tf.Tensor:
        x = tf.nn.conv1d(x, tf.convert_to_tensor(self.weight), 1, "SAME", dilations=self._dilation)
        return x if self.bias is None else x + self.bias


class UpsamplingConvolution(keras.layers.Layer):
    """A transposed convolution over [B, T, in] with padding (kernel - rate) / 2: [B, T rate, out].

    It is computed as a convolution that has `rate` times as many outputs, whose kernel holds every rate-th weight.
    """

    def __init__(self, inputs: int, outputs: int, *, kernel: int, rate: int, name: str):
        super().__init__(name=name)
        self.rate, self._outputs = rate, outputs
        self._padding = (kernel - rate) // 2
        self.reach = -(-self._padding // rate)
        self.weight = self.add_weight(shape=(kernel, outputs, inputs), initializer=normal(0.01), name="weight")
        self.bias = self.add_weight(shape=(outputs,), initializer="zeros", name="bias")
        self.built = True

    def call(self, x: tf.Tensor) -> tf.Tensor:
        rows, inputs = tf.shape(x)[0], x.shape[2]
        # output q rate + s is the sum of weight[s + padding + m rate] x[q - m] over m
        missing = self.reach * self.rate - self._padding
        kernel = tf.pad(self.weight, [[missing, missing], [0, 0], [0, 0]])
        taps = 2 * self.reach + 1
        kernel = tf.reshape(kernel, [taps, self.rate * self._outputs, inputs])[::-1]
        wide = tf.nn.conv1d(x, tf.transpose(kernel, [0, 2, 1]), 1, "SAME")
        return tf.reshape(wide, [rows, -1, self._outputs]) + self.bias


class DepthwiseConvolution(keras.layers.Layer):
    """A convolution with an odd kernel of each channel by itself, padded with zeros: [B, T, C] to [B, T, C]."""

    def __init__(self, channels: int, *, kernel: int, name: str):
        super().__init__(name=name)
        self.reach = (kernel - 1) // 2
        self.weight = self.add_weight(shape=(kernel, 1, channels), initializer=normal(0.02), name="weight")
        self.bias = self.add_weight(shape=(channels,), initializer="zeros", name="bias")
        self.built = True

    def call(self, x: tf.Tensor) -> tf.Tensor:
        if x.shape[1] is None:  # a program for all lengths, which XLA does not compile
            kernel = tf.reshape(tf.convert_to_tensor(self.weight), [1, -1, x.shape[2], 1])
            found = tf.nn.depthwise_conv2d(x[:, tf.newaxis], kernel, [1, 1, 1, 1], "SAME")
            return tf.nn.bias_add(found[:, 0], self.bias)
        # XLA on CPUs computes a sum of shifted products in a tenth of the time of a depthwise convolution
        frames = tf.shape(x)[1]
        padded = tf.pad(x, [[0, 0], [self.reach, self.reach], [0, 0]])
        products = [padded[:, tap : tap + frames] * self.weight[tap] for tap in range(2 * self.reach + 1)]
        return tf.add_n(products) + self.bias


class Linear(keras.layers.Layer):
    """A dense layer over the last axis."""

    def __init__(self, inputs: int, outputs: int, *, name: str):
        super().__init__(name=name)
        self.weight = self.add_weight(shape=(inputs, outputs), initializer=normal(0.02), name="weight")
        self.bias = self.add_weight(shape=(outputs,), initializer="zeros", name="bias")
        self.built = True

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return tf.nn.bias_add(tf.matmul(x, self.weight), self.bias)


class LayerNorm(keras.layers.Layer):
    """Layer normalisation over the last axis."""

    def __init__(self, channels: int, *, epsilon: float = 1e-6, name: str):
        super().__init__(name=name)
        self._epsilon = epsilon
        self.weight = self.add_weight(shape=(channels,), initializer="ones", name="weight")
        self.bias = self.add_weight(shape=(channels,), initializer="zeros", name="bias")
        self.built = True

    def call(self, x: tf.Tensor) -> tf.Tensor:
        mean, variance = tf.nn.moments(x, -1, keepdims=True)
        return (x - mean) * tf.math.rsqrt(variance + self._epsilon) * self.weight + self.bias


def normal(stddev: float) -> keras.initializers.Initializer:
    """An initializer that draws from a normal distribution around 0."""
    return keras.initializers.RandomNormal(stddev=stddev)
