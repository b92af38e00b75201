"""Settings of vocoders' generators, under the names that their authors' config files have."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import pydantic

from shared.config import Config

Sizes = Annotated[tuple[pydantic.PositiveInt, ...], pydantic.Field(min_length=1, max_length=16)]
Dilations = Annotated[
    tuple[Annotated[int, pydantic.Field(ge=1, le=1024)], ...], pydantic.Field(min_length=1, max_length=16)
]
Channels = Annotated[int, pydantic.Field(ge=1, le=8192)]
MAX_HOP_SAMPLES = 4096
MAX_WEIGHTS = 300_000_000  # of the convolutions; the largest released one, BigVGAN v2, has 112 million


def _check_size(weights: int) -> None:
    if weights > MAX_WEIGHTS:
        raise ValueError(f"a generator of {weights:,} weights, expected at most {MAX_WEIGHTS:,}")


class HiFiGanConfig(Config):
    """The generator of HiFi-GAN (Kong, Kim & Bae, 2020, arXiv:2010.05646)."""

    kind: Literal["hifi-gan"] = "hifi-gan"
    resblock: Literal["1", "2"] = "1"  # "2" has one convolution for each dilation in the place of two
    upsample_rates: Sizes = (8, 8, 2, 2)  # their product is the hop
    upsample_kernel_sizes: Sizes = (16, 16, 4, 4)  # of the transposed convolutions
    upsample_initial_channel: Channels = 512  # halved by each upsampling
    resblock_kernel_sizes: Sizes = (3, 7, 11)  # a residual block for each, after each upsampling
    resblock_dilation_sizes: Annotated[tuple[Dilations, ...], pydantic.Field(max_length=16)] = (
        (1, 3, 5),
    ) * 3  # of the convolutions of each block

    @property
    def hop_samples(self) -> int:
        return math.prod(self.upsample_rates)

    @pydantic.model_validator(mode="after")
    def _fits(self) -> HiFiGanConfig:
        if len(self.upsample_rates) != len(self.upsample_kernel_sizes):
            raise ValueError("upsample_rates and upsample_kernel_sizes differ in length")
        if len(self.resblock_kernel_sizes) != len(self.resblock_dilation_sizes):
            raise ValueError("resblock_kernel_sizes and resblock_dilation_sizes differ in length")
        for rate, size in zip(self.upsample_rates, self.upsample_kernel_sizes, strict=True):
            if size < rate or (size - rate) % 2:
                raise ValueError(f"upsample_kernel_sizes: {size} for a rate of {rate}, expected an even number more")
        if any(size % 2 == 0 for size in self.resblock_kernel_sizes):
            raise ValueError("resblock_kernel_sizes: expected odd numbers")
        if self.upsample_initial_channel >> len(self.upsample_rates) < 1:
            raise ValueError("upsample_initial_channel: the last upsampling leaves no channel")
        if self.hop_samples > MAX_HOP_SAMPLES:
            raise ValueError(f"upsample_rates: a hop of {self.hop_samples}, expected at most {MAX_HOP_SAMPLES}")
        _check_size(self._weights())
        return self

    def _weights(self) -> int:
        """The weights of the upsamplings and of the residual blocks, which are nearly all."""
        total, channels = 0, self.upsample_initial_channel
        of_block = sum(
            size * len(dilations)
            for size, dilations in zip(self.resblock_kernel_sizes, self.resblock_dilation_sizes, strict=True)
        )
        for size in self.upsample_kernel_sizes:
            total += channels * (channels // 2) * size
            channels //= 2
            total += channels**2 * of_block * (2 if self.resblock == "1" else 1)
        return total


class BigVganConfig(HiFiGanConfig):
    """The generator of BigVGAN (Lee et al., 2023, arXiv:2206.04658) and of its version 2."""

    kind: Literal["bigvgan"] = "bigvgan"  # type: ignore[assignment]
    activation: Literal["snake", "snakebeta"] = "snakebeta"  # with one learned number a channel, or two
    snake_logscale: bool = True  # alpha and beta are stored as logarithms
    use_tanh_at_final: bool = True  # False: samples are clipped
    use_bias_at_final: bool = True  # a bias in the last convolution


class VocosConfig(Config):
    """The generator of Vocos (Siuzdak, 2024, arXiv:2306.00814)."""

    kind: Literal["vocos"] = "vocos"
    dim: Channels = 512  # channels of the backbone
    intermediate_dim: Channels = 1536  # channels within its blocks
    num_layers: int = pydantic.Field(8, ge=1, le=64)  # blocks
    n_fft: int = pydantic.Field(1024, ge=16, le=8192)  # length of the inverted transform, in samples
    hop_length: int = pydantic.Field(256, ge=1, le=MAX_HOP_SAMPLES)  # samples for each frame of the mel
    padding: Literal["same", "center"] = "center"  # of the mel's frames: (n_fft - hop_length) / 2 or n_fft / 2 samples

    @property
    def hop_samples(self) -> int:
        return self.hop_length

    @property
    def pad_samples(self) -> int:
        return self.n_fft // 2 if self.padding == "center" else (self.n_fft - self.hop_length) // 2

    @pydantic.model_validator(mode="after")
    def _fits(self) -> VocosConfig:
        if self.n_fft % 2 or self.n_fft < 2 * self.hop_length:
            raise ValueError(f"n_fft: {self.n_fft}, expected an even number of at least twice the hop_length")
        _check_size(2 * self.dim * self.intermediate_dim * self.num_layers)
        return self


GeneratorConfig = Annotated[HiFiGanConfig | BigVganConfig | VocosConfig, pydantic.Field(discriminator="kind")]
