"""The generator of BigVGAN (Lee et al., 2023, arXiv:2206.04658): HiFi-GAN's with Snake between resamplings."""

from __future__ import annotations

import tensorflow as tf

from trainer.config.vocoder_config import BigVganConfig
from trainer.vocoder.hifi_gan import Activation, HiFiGan
from trainer.vocoder.snake import AntiAliasedSnake


class BigVgan(HiFiGan):
    """The generator: no activation before an upsampling, Snake elsewhere, clipped or tanh at the end."""

    config: BigVganConfig

    def _upsampling_name(self, stage: int) -> str:
        return f"ups.{stage}.0"

    def _before_upsampling(self, x: tf.Tensor) -> tf.Tensor:
        return x

    def _make_activation(self, channels: int, name: str) -> Activation:
        return AntiAliasedSnake(
            channels,
            has_beta=self.config.activation == "snakebeta",
            is_logarithmic=self.config.snake_logscale,
            name=name,
        )

    def _make_last_activation(self, channels: int) -> Activation:
        return self._make_activation(channels, "activation_post")

    def _has_last_bias(self) -> bool:
        return self.config.use_bias_at_final

    def _bounded(self, x: tf.Tensor) -> tf.Tensor:
        return tf.tanh(x) if self.config.use_tanh_at_final else tf.clip_by_value(x, -1.0, 1.0)
