"""Mel decoder: autoregressive over continuous frames, r per step, after MELLE (Meng et al., 2024, arXiv:2407.08551).

    previous r frames ─ pre-net ─ transformer over the past ─┬─► μ, ln σ² ─► z = μ + σ ε ─► y' = z + MLP(z)
         text and latents ─┘ attended to                     └─► stop          y'' = y' + post-net(y')

Mels are standardised per band by the corpus' statistics, here and in the losses, so that a quiet band counts as much as
a loud one. All layers are causal, the post-net included: an output depends on earlier frames only, so that teacher
forcing leaks nothing through the post-net's convolutions, and speech can be streamed.
"""

from __future__ import annotations

from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from trainer.config.model_sizes import ModelDims
from trainer.model.attention import KeysValues, StepKeysValues, batch_size, build_for, causal_mask
from trainer.model.layers import DecoderBlock, LayerConfig, norm
from trainer.model.positions import Positions
from trainer.model.postnet import PostNet
from trainer.model.rng import RngStream, shape_of

PRENET_DROPOUT = 0.5  # also at inference, as in Tacotron 2 and MELLE, so that decoding relies on the text

# of ln σ², which bounds σ² and its loss
LOG_VARIANCE_RANGE = (-10.0, 4.0)

MIN_STD = 0.05  # of a band, ln magnitude; a band that is always silent has no deviation
MIN_TEXT_WEIGHT = 1e-6


class Decoded(NamedTuple):
    """Decoder outputs for each frame and step; all mels but the last are standardised."""

    mean: tf.Tensor  # μ [B, F, M]
    log_variance: tf.Tensor  # ln σ² [B, F, M]
    coarse: tf.Tensor  # y' [B, F, M]
    refined: tf.Tensor  # y'' [B, F, M]
    stop_logits: tf.Tensor  # [B, N]
    alignment: tf.Tensor  # attention on the text, [B, N, T], mean over blocks and heads
    mel: tf.Tensor  # y'' in ln magnitude [B, F, M]


class DecoderStep(NamedTuple):
    """One decoder step, before the post-net; mels are standardised."""

    mean: tf.Tensor  # [B, r, M]
    log_variance: tf.Tensor  # [B, r, M]
    stop_logits: tf.Tensor  # [B, 1]
    alignment: tf.Tensor  # [B, 1, T]

    def with_guidance(self, scale: tf.Tensor) -> DecoderStep:
        """The step of the first half of the rows, its mean led away from that of the second half.

        μ = μ_without + scale (μ_with − μ_without); all else is the first half's.
        """
        first, second = tf.split(self.mean, 2)
        halves = (tf.split(one, 2)[0] for one in (self.log_variance, self.stop_logits, self.alignment))
        return DecoderStep(second + scale * (first - second), *halves)


class EncoderStates(NamedTuple):
    """Encoder outputs that the decoder attends to: latents and text, projected once for each block."""

    projected: tuple[KeysValues | StepKeysValues, ...]
    mask: tf.Tensor  # [B, 1, 1, L + T]
    speaker: tf.Tensor  # [B, D]
    text_mask: tf.Tensor  # [B, T], False for padding

    def for_steps(self) -> EncoderStates:
        """With keys and values as the products of a step read them, for many steps."""
        return self._replace(projected=tuple(StepKeysValues.of(one) for one in self.projected))


class Decoder(keras.layers.Layer):
    """The decoder with its pre-net, latent sampling, post-net and stop prediction."""

    def __init__(self, size: ModelDims, layer_config: LayerConfig, *, n_mels: int, frames_per_step: int):
        # mels stay float32 up to the pre-net: bfloat16 has steps of 0.06 at −11
        super().__init__(name="decoder", dtype=layer_config.dtype, autocast=False)
        stack, dtype = size.decoder, layer_config.dtype
        self._n_mels, self._frames_per_step = n_mels, frames_per_step
        self._size, self._width = size, stack.width
        self._heads_count, self._head_width = stack.heads, stack.width // stack.heads

        def dense(width: int, name: str, **options: object) -> keras.layers.Dense:
            return keras.layers.Dense(width, name=name, dtype=dtype, **options)

        self._text_projection = dense(stack.width, "text_projection")
        self._latent_projection = dense(stack.width, "latent_projection")
        self._speaker_projection = dense(stack.width, "speaker_projection")
        self._prenet = [dense(size.prenet, f"prenet_{index}", activation="relu") for index in range(2)]
        self._input = dense(stack.width, "input")
        self._positions = Positions(stack, rotary=layer_config.rotary)
        self._blocks = [DecoderBlock(stack, layer_config, name=f"block_{index}") for index in range(stack.layers)]
        self._norm = norm("norm", dtype=dtype)
        # the distribution and everything after it stay in float32 (whose products GPUs round to TF32)
        self._distribution = keras.layers.Dense(2 * frames_per_step * n_mels, name="distribution", dtype="float32")
        self._stop = keras.layers.Dense(1, name="stop", dtype="float32")
        # named refine_*, which is part of the weights' names in checkpoints
        self._latent_mlp = [
            keras.layers.Dense(size.prenet, activation="gelu", name="refine_0", dtype="float32"),
            keras.layers.Dense(n_mels, kernel_initializer="zeros", name="refine_1", dtype="float32"),
        ]
        self._postnet = PostNet(size.postnet, n_mels=n_mels, dtype=dtype)

    def build(self, *_: object) -> None:
        """Create all weights, and the corpus' statistics as float32 weights, so that checkpoints contain them."""
        options = {"shape": [self._n_mels], "trainable": False, "autocast": False}
        self._mean = self.add_weight(initializer="zeros", name="mel_mean", **options)
        self._std = self.add_weight(initializer="ones", name="mel_std", **options)
        build_for(self._frames_per_step * self._n_mels, self._prenet[0])
        build_for(self._size.prenet, self._prenet[1], self._input, self._latent_mlp[1])
        build_for(self._width, *self._blocks, self._norm, self._distribution, self._stop)
        build_for(self._n_mels, self._latent_mlp[0], self._postnet)

    def build_projections(self) -> None:
        """Create the weights of `encode_memory` before `build`; they are named after the scope of the caller."""
        size = self._size
        build_for(size.text_encoder.width, self._text_projection)
        build_for(size.reference_encoder.width, self._latent_projection)
        build_for(size.speaker, self._speaker_projection)
        for block in self._blocks:
            block.build_projection()

    @property
    def last_shared(self) -> list[keras.Variable]:
        """The last weights that all outputs depend on, for GradNorm."""
        return self._norm.weights  # also of a frozen decoder

    def set_statistics(self, *, mean: list[float], std: list[float]) -> None:
        """Mean and standard deviation of each band of the training mels, [M] in ln magnitude."""
        self._mean.assign(mean)
        self._std.assign(np.maximum(std, MIN_STD))

    def standardise(self, mel: tf.Tensor) -> tf.Tensor:
        """Scale the bands of a mel [..., M] in ln magnitude to mean 0 and deviation 1."""
        return (tf.cast(mel, tf.float32) - self._mean) / self._std

    def unstandardise(self, mel: tf.Tensor) -> tf.Tensor:
        """The inverse of `standardise`."""
        return self._mean + self._std * mel

    def encode_memory(
        self, text: tf.Tensor, token_counts: tf.Tensor, latents: tf.Tensor, speaker: tf.Tensor
    ) -> EncoderStates:
        """Project text [B, T, Dt], latents [B, L, Da] and speaker [B, S] once for all steps."""
        memory = tf.concat([self._latent_projection(latents), self._text_projection(text)], 1)
        text_mask = tf.sequence_mask(token_counts, text.shape[1])
        mask = tf.pad(text_mask, [[0, 0], [latents.shape[1], 0]], constant_values=True)[:, None, None, :]
        projected = tuple(block.project_memory(memory) for block in self._blocks)
        return EncoderStates(projected, mask, self._speaker_projection(speaker), text_mask)

    def call(self, mel: tf.Tensor, memory: EncoderStates, noise: RngStream | None = None) -> Decoded:
        """Decode a standardised mel [B, F, M] with teacher forcing; without noise z is μ and there is no dropout."""
        batch, steps = batch_size(mel), mel.shape[1] // self._frames_per_step
        groups = tf.reshape(mel, [batch, steps, -1])
        x = self._embed(tf.pad(groups[:, :-1], [[0, 0], [1, 0], [0, 0]]), memory, noise)
        numbers, weights = tf.range(steps), []
        x, rotation = self._positions.added(x, numbers), self._positions.rotation(numbers)
        for block, projected in zip(self._blocks, memory.projected, strict=True):
            x, block_weights = block(x, causal_mask(steps), projected, memory.mask, rotation=rotation, noise=noise)
            weights.append(block_weights)
        mean, log_variance, stop_logits = self._predict(self._norm(x))
        coarse, refined = self.postnet(mean if noise is None else self.sample(mean, log_variance, noise=noise))
        alignment = text_alignment(weights, text_size=memory.text_mask.shape[1])
        return Decoded(mean, log_variance, coarse, refined, stop_logits, alignment, self.unstandardise(refined))

    def empty_cache(self, batch: int, *, steps: int) -> tuple[StepKeysValues, ...]:
        """A cache of `steps` steps for each block."""
        heads, width = self._heads_count, self._head_width
        empty = StepKeysValues(
            tf.zeros([batch, heads, width, steps], self.compute_dtype),
            tf.zeros([batch, heads, steps, width], self.compute_dtype),
        )
        return (empty,) * len(self._blocks)

    def step(
        self,
        previous: tf.Tensor,
        memory: EncoderStates,
        cache: tuple[StepKeysValues, ...],
        position: tf.Tensor,
        noise: RngStream | None = None,
        *,
        text_bias: tf.Tensor | None = None,
    ) -> tuple[DecoderStep, tuple[StepKeysValues, ...]]:
        """Decode step `position` after the r previous standardised frames [B, r, M]; zeros for the first.

        Args:
            text_bias: [B, T] float32, added to the scores of the text in every block and head.
        """
        group = tf.reshape(previous, [batch_size(previous), 1, -1])
        x = self._positions.added(self._embed(group, memory, noise), position[None])
        rotation, grown, weights = self._positions.rotation(position[None]), [], []
        bias = None if text_bias is None else _memory_bias(text_bias, memory=memory)
        for block, block_cache, projected in zip(self._blocks, cache, memory.projected, strict=True):
            x, block_cache, block_weights = block.step(
                x, block_cache, position, projected, memory.mask, rotation=rotation, memory_bias=bias
            )
            grown.append(block_cache)
            weights.append(block_weights)
        alignment = text_alignment(weights, text_size=memory.text_mask.shape[1])
        return DecoderStep(*self._predict(self._norm(x)), alignment), tuple(grown)

    def sample(
        self, mean: tf.Tensor, log_variance: tf.Tensor, *, noise: RngStream, temperature: tf.Tensor | float = 1.0
    ) -> tf.Tensor:
        """Sample z = μ + temperature σ ε, [B, F, M]."""
        return mean + temperature * tf.exp(0.5 * log_variance) * noise.normal(shape_of(mean))

    def postnet(self, latent: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The coarse mel y' and the refined mel y'' from z [B, F, M]."""
        coarse = self.latent_mlp(latent)
        return coarse, coarse + tf.cast(self._postnet(coarse), tf.float32)

    def empty_postnet_cache(self, batch: int) -> tuple[tf.Tensor, ...]:
        """The cache of `postnet_part` before the first frame."""
        return self._postnet.empty_cache(batch)

    def postnet_part(self, latent: tf.Tensor, cache: tuple[tf.Tensor, ...]) -> tuple[tf.Tensor, tuple[tf.Tensor, ...]]:
        """The refined mel y'' of the frames z [B, F, M] that follow those in the cache, and the cache after them."""
        coarse = self.latent_mlp(latent)
        correction, cache = self._postnet.part(coarse, cache)
        return coarse + tf.cast(correction, tf.float32), cache

    def latent_mlp(self, latent: tf.Tensor) -> tf.Tensor:
        """y' = z + MLP(z), frame by frame; the input of the next step."""
        hidden, output = self._latent_mlp
        return latent + output(hidden(latent))

    def _embed(self, groups: tf.Tensor, memory: EncoderStates, noise: RngStream | None) -> tf.Tensor:
        """Pre-net over standardised frames [B, N, r M], input projection, plus the speaker: [B, N, D]."""
        x = tf.cast(groups, self.compute_dtype)
        for layer in self._prenet:
            x = layer(x)
            x = x if noise is None else noise.dropout(x, rate=PRENET_DROPOUT, always=True)
        return self._input(x) + memory.speaker[:, None, :]

    def _predict(self, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """μ and ln σ² of [B, F, M] and stop logits [B, N] from x [B, N, D]."""
        mean, log_variance = tf.split(self._distribution(x), 2, axis=-1)
        shape = [batch_size(x), x.shape[1] * self._frames_per_step, self._n_mels]
        log_variance = soft_clamp(tf.reshape(log_variance, shape), *LOG_VARIANCE_RANGE)
        return tf.reshape(mean, shape), log_variance, tf.squeeze(self._stop(x), -1)


def _memory_bias(text_bias: tf.Tensor, *, memory: EncoderStates) -> tf.Tensor:
    """The bias on the scores of all keys [B, 1, 1, L + T]: none on latents, `text_bias` [B, T] on the text."""
    latents = memory.mask.shape[-1] - memory.text_mask.shape[1]
    return tf.pad(text_bias, [[0, 0], [latents, 0]])[:, None, None, :]


def soft_clamp(values: tf.Tensor, low: float, high: float) -> tf.Tensor:
    """Bend values into a range by softplus at both ends; unlike clipping, it has gradients outside the range."""
    return low + tf.nn.softplus(high - low - tf.nn.softplus(high - values))


def text_alignment(weights: list[tf.Tensor], *, text_size: int) -> tf.Tensor:
    """Attention on the text, [B, N, T]: mean over heads and blocks of attention weights [B, H, N, L + T].

    The text comes last among the keys; its weights are normalised to sum to 1.
    """
    shares = []
    for block_weights in weights:
        text = block_weights[..., -text_size:]
        shares.append(tf.reduce_mean(text / (tf.reduce_sum(text, -1, keepdims=True) + MIN_TEXT_WEIGHT), 1))
    return tf.add_n(shares) / len(shares)
