"""Losses of the mel decoder (MELLE, arXiv:2407.08551, section 3.3), as means over valid frames and bands.

The paper sums over frames and bands. Means do not grow with the clip, and keep the ratios between all terms but the
stop loss, which has no bands: its weight cannot be compared with the paper's. The weight of the flux loss is 0.5 in the
paper (β) and 0.02 here, the only value tried that passes the learning check (docs/learning.md).
Mels are standardised with the statistics of the corpus.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from trainer.config.loss_config import GuidedAttentionConfig, LossConfig
from trainer.model.decoder import Decoded


class Target(NamedTuple):
    """The decoder's target."""

    mel: tf.Tensor  # [B, F, M], standardised
    frames: tf.Tensor  # [B] int32, valid frames
    token_counts: tf.Tensor  # [B] int32
    heard: tf.Tensor  # [B, F], True for frames that the reference crop shows; excluded from the losses


def term_counts(frames: tf.Tensor, heard: tf.Tensor, *, frames_per_step: int) -> dict[str, tf.Tensor]:
    """Return the number of elements over which each loss term averages, as float32 scalars.

    Args:
        frames: [B] valid frames.
        heard: [B, F] True for frames that the reference crop shows.
    """
    valid, steps = valid_frames(frames, heard), tf.reduce_sum(-(-frames // frames_per_step))
    counts = {"mel": valid, "kl": valid, "flux": valid[:, 1:] & valid[:, :-1], "stop": steps, "guided_attention": steps}
    return {name: tf.reduce_sum(tf.cast(one, tf.float32)) for name, one in counts.items()}


def valid_frames(frames: tf.Tensor, heard: tf.Tensor) -> tf.Tensor:
    """Return the mask [B, F] of frames that enter the losses: within `frames` [B], and not in the reference crop."""
    return tf.sequence_mask(frames, heard.shape[1]) & ~heard


def loss_terms(decoded: Decoded, *, target: Target, config: LossConfig) -> dict[str, tf.Tensor]:
    """Return each unweighted loss term as a float32 scalar."""
    mel, frames = target.mel, target.frames
    valid = valid_frames(frames, target.heard)
    frames_per_step = mel.shape[1] // decoded.stop_logits.shape[1]
    step_counts = -(-frames // frames_per_step)
    mel_terms = [mel_loss(one, mel, valid, config=config) for one in (decoded.coarse, decoded.refined)]
    return {
        "mel": tf.add_n(mel_terms),
        "kl": kl_loss(decoded.mean, decoded.log_variance, mel, valid),
        "flux": flux_loss(decoded.mean, mel, valid),
        "stop": stop_loss(decoded.stop_logits, step_counts, positive_weight=config.stop_positive_weight),
        "guided_attention": guided_attention_loss(
            decoded.alignment, step_counts, target.token_counts, width=config.guided_attention.width
        ),
    }


def loss_weights(config: LossConfig, *, step: tf.Tensor | None) -> dict[str, tf.Tensor]:
    """The weight of each term at step `step` (0 is the first; skipped steps count); None: after the last step."""
    weights = {"mel": config.mel, "kl": config.kl, "flux": config.flux, "stop": config.stop}
    constants = {name: tf.constant(weight) for name, weight in weights.items()}
    return constants | {"guided_attention": guided_attention_weight(config.guided_attention, step=step)}


def guided_attention_weight(config: GuidedAttentionConfig, *, step: tf.Tensor | None) -> tf.Tensor:
    """The weight of the guided-attention loss at step `step`; None: after the last step, where it is 0."""
    if step is None:
        return tf.constant(0.0)
    fallen = (tf.cast(step, tf.float32) - config.full_steps) / config.decay_steps
    return config.weight * (1.0 - tf.clip_by_value(fallen, 0.0, 1.0))


def weighted_sum(terms: dict[str, tf.Tensor], weights: dict[str, tf.Tensor]) -> tf.Tensor:
    """Return the weighted sum of the loss terms."""
    return tf.add_n([weights[name] * term for name, term in terms.items()])


def mel_loss(predicted: tf.Tensor, target: tf.Tensor, valid: tf.Tensor, *, config: LossConfig) -> tf.Tensor:
    """Return L1 + L2, or the Huber (1964) loss, between mels [B, F, M] over valid frames [B, F]."""
    size, delta = tf.abs(predicted - target), config.huber_delta
    if config.mel_kind == "huber":
        linear = delta * (size - 0.5 * delta)
        return masked_mean(tf.where(size <= delta, 0.5 * tf.square(size), linear), valid)
    return masked_mean(size + tf.square(size), valid)


def kl_loss(mean: tf.Tensor, log_variance: tf.Tensor, target: tf.Tensor, valid: tf.Tensor) -> tf.Tensor:
    """KL(N(μ, σ²) ‖ N(y, 1)) = ½ (σ² + (μ − y)² − 1 − ln σ²)."""
    return masked_mean(0.5 * (tf.exp(log_variance) + tf.square(mean - target) - 1.0 - log_variance), valid)


def flux_loss(mean: tf.Tensor, target: tf.Tensor, valid: tf.Tensor) -> tf.Tensor:
    """−|μ_t − y_{t−1}|: rewards frames that differ from the previous one, to prevent a static output."""
    return masked_mean(-tf.abs(mean[:, 1:] - target[:, :-1]), valid[:, 1:] & valid[:, :-1])


def stop_loss(logits: tf.Tensor, step_counts: tf.Tensor, *, positive_weight: float) -> tf.Tensor:
    """Weighted binary cross-entropy of stop logits [B, N]; the label is 1 at the last of step_counts [B] steps."""
    numbers = tf.range(logits.shape[1])[None, :]
    labels = tf.cast(numbers == step_counts[:, None] - 1, tf.float32)
    entropy = tf.nn.weighted_cross_entropy_with_logits(labels, logits, positive_weight)
    return masked_mean(entropy[:, :, None], numbers < step_counts[:, None])


def guided_attention_loss(
    alignment: tf.Tensor, step_counts: tf.Tensor, token_counts: tf.Tensor, *, width: float
) -> tf.Tensor:
    """Return the share of attention [B, N, T] off the diagonal, 0 to 1, averaged over steps.

    Each step's attention is weighted by 1 − exp(−(n / N − t / T)² / 2g²) (Tachibana et al., 2017, arXiv:1710.08969,
    equation 6) with the clip's own N and T. The paper also divides by T; a share does not fall with long texts.
    """
    steps, tokens = (tf.range(size, dtype=tf.float32) for size in alignment.shape[1:])
    time = steps[None, :] / tf.cast(tf.maximum(step_counts, 1), tf.float32)[:, None]
    place = tokens[None, :] / tf.cast(tf.maximum(token_counts, 1), tf.float32)[:, None]
    distance = time[:, :, None] - place[:, None, :]
    penalty = 1.0 - tf.exp(-tf.square(distance) / (2.0 * width**2))
    off = tf.reduce_sum(alignment * penalty, -1, keepdims=True)
    return masked_mean(off, tf.sequence_mask(step_counts, alignment.shape[1]))


def masked_mean(values: tf.Tensor, valid: tf.Tensor) -> tf.Tensor:
    """Return the mean of values [B, F, M] over valid positions [B, F]; 0 if there are none."""
    values = tf.where(valid[:, :, None], values, 0.0)
    count = tf.reduce_sum(tf.cast(valid, tf.float32)) * values.shape[-1]
    return tf.reduce_sum(values) / tf.maximum(count, 1.0)
