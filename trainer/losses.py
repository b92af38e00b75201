"""Losses of the mel decoder (MELLE, arXiv:2407.08551, section 3.3), as means over valid frames and bands.

The paper sums over frames and bands; a mean of each term keeps their ratios and does not grow with the clip.
"""

from __future__ import annotations

import pydantic
import tensorflow as tf

from shared.config import Config
from trainer.model.decoder import Decoded


class LossConfig(Config):
    """The weight of each term."""

    mel: float = pydantic.Field(1.0, ge=0)
    kl: float = pydantic.Field(0.1, ge=0)
    flux: float = pydantic.Field(0.5, ge=0)
    stop: float = pydantic.Field(1.0, ge=0)
    stop_positive_weight: float = pydantic.Field(5.0, ge=1)  # one step in some fifty is the last


def decoder_losses(
    decoded: Decoded, *, mel: tf.Tensor, frames: tf.Tensor, heard: tf.Tensor, config: LossConfig
) -> dict[str, tf.Tensor]:
    """Each term unweighted, and their weighted sum as `loss`; float32 scalars.

    Args:
        mel: the target, [B, F, M] ln magnitude.
        frames: its valid frames, [B].
        heard: True for frames that the conditioning crop showed, [B, F]; they say nothing and are left out.
    """
    valid = tf.sequence_mask(frames, mel.shape[1]) & ~heard
    steps = decoded.stop_logits.shape[1]
    frames_per_step = mel.shape[1] // steps
    terms = {
        "mel": mel_loss(decoded.coarse, mel, valid) + mel_loss(decoded.refined, mel, valid),
        "kl": kl_loss(decoded.mean, decoded.log_variance, mel, valid),
        "flux": flux_loss(decoded.mean, mel, valid),
        "stop": stop_loss(
            decoded.stop_logits,
            last_step=(frames - 1) // frames_per_step,
            positive_weight=config.stop_positive_weight,
        ),
    }
    loss = config.mel * terms["mel"] + config.kl * terms["kl"] + config.flux * terms["flux"]
    return {"loss": loss + config.stop * terms["stop"], **terms}


def mel_loss(predicted: tf.Tensor, target: tf.Tensor, valid: tf.Tensor) -> tf.Tensor:
    """L1 + L2 between mels [B, F, M] over valid frames [B, F]."""
    difference = predicted - target
    return masked_mean(tf.abs(difference) + tf.square(difference), valid)


def kl_loss(mean: tf.Tensor, log_variance: tf.Tensor, target: tf.Tensor, valid: tf.Tensor) -> tf.Tensor:
    """KL(N(μ, σ²) ‖ N(y, 1)) = ½ (σ² + (μ − y)² − 1 − ln σ²)."""
    return masked_mean(0.5 * (tf.exp(log_variance) + tf.square(mean - target) - 1.0 - log_variance), valid)


def flux_loss(mean: tf.Tensor, target: tf.Tensor, valid: tf.Tensor) -> tf.Tensor:
    """−|μ_t − y_{t−1}|: rewards a frame that differs from the one before it, against standing still."""
    return masked_mean(-tf.abs(mean[:, 1:] - target[:, :-1]), valid[:, 1:] & valid[:, :-1])


def stop_loss(logits: tf.Tensor, *, last_step: tf.Tensor, positive_weight: float) -> tf.Tensor:
    """Weighted binary cross-entropy of stop logits [B, N]: 1 at the last step [B], 0 before it."""
    numbers = tf.range(logits.shape[1])[None, :]
    labels = tf.cast(numbers == last_step[:, None], tf.float32)
    entropy = tf.nn.weighted_cross_entropy_with_logits(labels, logits, positive_weight)
    return masked_mean(entropy[:, :, None], numbers <= last_step[:, None])


def masked_mean(values: tf.Tensor, valid: tf.Tensor) -> tf.Tensor:
    """Mean of values [B, F, M] over valid positions [B, F]; 0 where there is none."""
    values = tf.where(valid[:, :, None], values, 0.0)
    count = tf.reduce_sum(tf.cast(valid, tf.float32)) * values.shape[-1]
    return tf.reduce_sum(values) / tf.maximum(count, 1.0)
