"""The generator of HiFi-GAN (Kong, Kim & Bae, 2020, arXiv:2010.05646): upsampled by transposed convolutions.

    mel [B, F, M] ─ conv_pre ─┬► upsampling ─ mean of residual blocks ─┬─ conv_post ─► samples [B, F hop]
                              └──────── for each rate ◄────────────────┘

The layers have the names of the authors' modules.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import keras
import tensorflow as tf

from trainer.config.vocoder_config import HiFiGanConfig
from trainer.vocoder.layers import Convolution, UpsamplingConvolution

SLOPE = 0.1  # of leaky ReLU
LAST_SLOPE = 0.01  # of the one before the last convolution
END_KERNEL = 7

Activation = Callable[[tf.Tensor], tf.Tensor]


class ResidualBlock(keras.layers.Layer):
    """Dilated convolutions, each added to its input: [B, T, C] to [B, T, C]."""

    def __init__(
        self,
        channels: int,
        *,
        kernel: int,
        dilations: tuple[int, ...],
        is_double: bool,
        make_activation: Callable[[int, str], Activation],
        name: str,
    ):
        """`is_double` adds a second convolution, without dilation, behind each one."""
        super().__init__(name=name)
        kinds = [("convs1", dilations), ("convs2", (1,) * len(dilations))] if is_double else [("convs", dilations)]
        convolutions = [
            [
                Convolution(channels, channels, kernel=kernel, dilation=dilation, name=f"{name}.{kind}.{index}")
                for index, dilation in enumerate(sizes)
            ]
            for kind, sizes in kinds
        ]
        self._steps = [*zip(*convolutions, strict=True)]
        count = len(self._steps) * len(kinds)
        self._activations = [make_activation(channels, f"{name}.activations.{index}") for index in range(count)]
        self.reach = sum(one.reach for step in self._steps for one in step) + sum(map(reach_of, self._activations))
        self.built = True

    def call(self, x: tf.Tensor) -> tf.Tensor:
        activations = iter(self._activations)
        for step in self._steps:
            change = x
            for convolution in step:
                change = convolution(next(activations)(change))
            x = x + change
        return x


class HiFiGan(keras.Model):
    """The generator; see the picture above."""

    def __init__(self, config: HiFiGanConfig, *, n_mels: int):
        super().__init__(name="vocoder")
        self.config, channels = config, config.upsample_initial_channel
        self._first = Convolution(n_mels, channels, kernel=END_KERNEL, name="conv_pre")
        self._upsamplings: list[UpsamplingConvolution] = []
        self._blocks: list[list[ResidualBlock]] = []
        for stage, (rate, kernel) in enumerate(zip(config.upsample_rates, config.upsample_kernel_sizes, strict=True)):
            name = self._upsampling_name(stage)
            self._upsamplings.append(
                UpsamplingConvolution(channels, channels // 2, kernel=kernel, rate=rate, name=name)
            )
            channels //= 2
            self._blocks.append(self._stage_blocks(stage, channels=channels))
        self._last_activation = self._make_last_activation(channels)
        self._last = Convolution(channels, 1, kernel=END_KERNEL, bias=self._has_last_bias(), name="conv_post")
        self.context_frames = self._context_frames()  # on each side that an output depends on
        self.built = True

    def call(self, mel: tf.Tensor) -> tf.Tensor:
        """Samples [B, F hop] in [-1, 1] of a mel [B, F, M] in ln magnitude."""
        x = self._first(mel)
        for upsampling, blocks in zip(self._upsamplings, self._blocks, strict=True):
            x = upsampling(self._before_upsampling(x))
            x = tf.add_n([block(x) for block in blocks]) / len(blocks)
        return self._bounded(self._last(self._last_activation(x)))[..., 0]

    def _stage_blocks(self, stage: int, *, channels: int) -> list[ResidualBlock]:
        config = self.config
        sizes = zip(config.resblock_kernel_sizes, config.resblock_dilation_sizes, strict=True)
        return [
            ResidualBlock(
                channels,
                kernel=kernel,
                dilations=dilations,
                is_double=config.resblock == "1",
                make_activation=self._make_activation,
                name=f"resblocks.{stage * len(config.resblock_kernel_sizes) + index}",
            )
            for index, (kernel, dilations) in enumerate(sizes)
        ]

    def _context_frames(self) -> int:
        """The sum of all reaches, each at the rate of its layer, rounded up."""
        frames, samples_per_frame = float(self._first.reach), 1
        for upsampling, blocks in zip(self._upsamplings, self._blocks, strict=True):
            frames += upsampling.reach / samples_per_frame
            samples_per_frame *= upsampling.rate
            frames += max(block.reach for block in blocks) / samples_per_frame
        frames += (self._last.reach + reach_of(self._last_activation)) / samples_per_frame
        return math.ceil(frames)

    def _upsampling_name(self, stage: int) -> str:
        return f"ups.{stage}"

    def _before_upsampling(self, x: tf.Tensor) -> tf.Tensor:
        return leaky(x)

    def _make_activation(self, channels: int, name: str) -> Activation:
        return leaky

    def _make_last_activation(self, channels: int) -> Activation:
        return last_leaky

    def _has_last_bias(self) -> bool:
        return True

    def _bounded(self, x: tf.Tensor) -> tf.Tensor:
        return tf.tanh(x)


def leaky(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.leaky_relu(x, SLOPE)


def last_leaky(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.leaky_relu(x, LAST_SLOPE)


def reach_of(activation: Activation) -> int:
    """Samples on each side that an output of an activation depends on."""
    return getattr(activation, "reach", 0)
