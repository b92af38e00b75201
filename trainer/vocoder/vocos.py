"""The generator of Vocos (Siuzdak, 2024, arXiv:2306.00814): a spectrum at the rate of the mel, inverted.

    mel [B, F, M] ─ embed ─ norm ─ ConvNeXt blocks ─ norm ─ head ─► ln |X|, ∠X [B, F, n_fft / 2 + 1] ─ iSTFT ─► samples

The layers have the names of the authors' modules.
"""

from __future__ import annotations

import math

import keras
import tensorflow as tf

from trainer.config.vocoder_config import VocosConfig
from trainer.vocoder.layers import Convolution, DepthwiseConvolution, LayerNorm, Linear

KERNEL = 7
MAX_MAGNITUDE = 100.0
MIN_WINDOW_POWER = 1e-11


class ConvNextBlock(keras.layers.Layer):
    """A block of ConvNeXt (Liu et al., 2022) over time: [B, F, D] to [B, F, D]."""

    def __init__(self, dim: int, *, intermediate_dim: int, scale: float, name: str):
        super().__init__(name=name)
        self._depthwise = DepthwiseConvolution(dim, kernel=KERNEL, name=f"{name}.dwconv")
        self._norm = LayerNorm(dim, name=f"{name}.norm")
        self._expand = Linear(dim, intermediate_dim, name=f"{name}.pwconv1")
        self._contract = Linear(intermediate_dim, dim, name=f"{name}.pwconv2")
        self.gamma = self.add_weight(shape=(dim,), initializer=keras.initializers.Constant(scale), name="gamma")
        self.reach = self._depthwise.reach
        self.built = True

    def call(self, x: tf.Tensor) -> tf.Tensor:
        # rows of all frames: TensorFlow computes product, bias and GELU of matrices in one kernel on CPUs
        rows = tf.reshape(self._norm(self._depthwise(x)), [-1, x.shape[2]])
        change = self._contract(tf.nn.gelu(self._expand(rows), approximate=False))
        return x + self.gamma * tf.reshape(change, tf.shape(x))


class Vocos(keras.Model):
    """The generator; see the picture above."""

    def __init__(self, config: VocosConfig, *, n_mels: int):
        super().__init__(name="vocoder")
        self.config = config
        self._embed = Convolution(n_mels, config.dim, kernel=KERNEL, name="backbone.embed")
        self._norm = LayerNorm(config.dim, name="backbone.norm")
        self._blocks = [
            ConvNextBlock(
                config.dim,
                intermediate_dim=config.intermediate_dim,
                scale=1 / config.num_layers,
                name=f"backbone.convnext.{index}",
            )
            for index in range(config.num_layers)
        ]
        self._final_norm = LayerNorm(config.dim, name="backbone.final_layer_norm")
        self._head = Linear(config.dim, config.n_fft + 2, name="head.out")
        # each sample is of the n_fft / hop frames whose windows cover it
        of_frames = self._embed.reach + sum(block.reach for block in self._blocks)
        self.context_frames = of_frames + math.ceil(config.n_fft / config.hop_length)
        self.built = True

    def call(self, mel: tf.Tensor) -> tf.Tensor:
        """Samples [B, S] of a mel [B, F, M] in ln magnitude; S = F hop, or (F - 1) hop with padding "center"."""
        x = self._norm(self._embed(mel))
        for block in self._blocks:
            x = block(x)
        log_magnitudes, phases = tf.split(self._head(self._final_norm(x)), 2, -1)
        magnitudes = tf.minimum(tf.exp(log_magnitudes), MAX_MAGNITUDE)
        spectrum = tf.complex(magnitudes * tf.cos(phases), magnitudes * tf.sin(phases))
        return self._inverted(spectrum)

    def _inverted(self, spectrum: tf.Tensor) -> tf.Tensor:
        """The signal [B, S] of a spectrum [B, F, bins]: overlapped frames, divided by the windows' power."""
        size, hop, pad = self.config.n_fft, self.config.hop_length, self.config.pad_samples
        window, frames = tf.signal.hann_window(size, periodic=True), tf.shape(spectrum)[1]
        signal = overlap_add(tf.signal.irfft(spectrum, [size]) * window, hop=hop)
        power = overlap_add(tf.tile(tf.square(window)[None, None], [1, frames, 1]), hop=hop)
        samples = tf.reshape(signal / tf.maximum(power, MIN_WINDOW_POWER), [tf.shape(signal)[0], -1])
        return samples[:, pad : (frames - 1) * hop + size - pad]


def overlap_add(frames: tf.Tensor, *, hop: int) -> tf.Tensor:
    """The sum of frames [B, F, N], each `hop` samples after the one before, in blocks of a hop: [B, F + K - 1, hop].

    K is N / hop, rounded up. `tf.signal.overlap_and_add` takes several times as long on a CPU where F is open.
    """
    count = -(-frames.shape[-1] // hop)
    whole = tf.pad(frames, [[0, 0], [0, 0], [0, count * hop - frames.shape[-1]]])
    parts = tf.reshape(whole, [tf.shape(frames)[0], -1, count, hop])
    shifted = [tf.pad(parts[:, :, k], [[0, 0], [k, count - 1 - k], [0, 0]]) for k in range(count)]
    return tf.add_n(shifted)
