"""Floating-point operations of a training step, by formula, from its matrix products and convolutions.

A multiply-add is two operations. The backward pass has two products for each one of the forward pass: the gradients of
the input and of the weights (Kaplan et al., 2020, arXiv:2001.08361, section 2.1); input data need no gradient.
Elementwise operations (norms, softmax, GELU, the optimizer) and recomputation by rematerialisation are not counted, as
in the definition of model FLOPs utilisation (Chowdhery et al., 2022, arXiv:2204.02311, appendix B).
Padding is counted, because it is computed; so are all N² scores of causal attention.
"""

from __future__ import annotations

from trainer.config.model_config import ModelConfig
from trainer.config.model_sizes import SIZES, ModelDims, StackDims
from trainer.data.bucket_types import Bucket
from trainer.model.postnet import POSTNET_KERNEL, POSTNET_LAYERS
from trainer.model.reference_encoder import CROP_KERNEL, CROP_STRIDE, NUM_LATENTS, RESAMPLER_LAYERS, STYLE_WIDTH


def step_flops(config: ModelConfig, bucket: Bucket, *, n_mels: int) -> int:
    """Operations of the forward and the backward pass for a batch of a shape."""
    size, r = SIZES[config.size], config.frames_per_step
    crop = (min(config.crop_frames, bucket.frames) - 1) // CROP_STRIDE + 1
    latents = NUM_LATENTS + (config.style_tokens > 0)
    crop_conv = crop * CROP_KERNEL * n_mels * size.reference_encoder.width
    prenet = bucket.frames // r * r * n_mels * size.prenet
    forward = (
        _encoder(size.text_encoder, bucket.tokens)
        + crop_conv
        + _reference_encoder(size, crop, style_tokens=config.style_tokens)
        + _memory(size, latents=latents, tokens=bucket.tokens)
        + prenet
        + _decoder(size, bucket.frames // r, memory=latents + bucket.tokens, outputs=2 * r * n_mels)
        + _frames(size, bucket.frames, n_mels=n_mels)
    )
    return 2 * bucket.clips * (3 * forward - crop_conv - prenet)


def _encoder(stack: StackDims, positions: int) -> int:
    """Multiply-adds of transformer blocks: four projections, scores, weighted sum, and a feed-forward layer of 4 D."""
    return stack.layers * (12 * positions * stack.width**2 + 2 * positions**2 * stack.width)


def _reference_encoder(size: ModelDims, positions: int, *, style_tokens: int) -> int:
    """Multiply-adds after the convolution: blocks, resampler, speaker embedding and style tokens, if any."""
    width, keys = size.reference_encoder.width, positions + NUM_LATENTS
    resampled = 10 * NUM_LATENTS * width**2 + 2 * keys * width**2 + 2 * NUM_LATENTS * keys * width
    style = 2 * width * STYLE_WIDTH + 2 * (1 + style_tokens) * STYLE_WIDTH**2 + 2 * style_tokens * STYLE_WIDTH
    return (
        _encoder(size.reference_encoder, positions)
        + RESAMPLER_LAYERS * resampled
        + width * size.speaker
        + (style if style_tokens else 0)
    )


def _memory(size: ModelDims, *, latents: int, tokens: int) -> int:
    """Multiply-adds that project the encoder states once, then to keys and values of each decoder block."""
    width = size.decoder.width
    projected = latents * size.reference_encoder.width + tokens * size.text_encoder.width + size.speaker
    return projected * width + size.decoder.layers * 2 * (latents + tokens) * width**2


def _decoder(size: ModelDims, steps: int, *, memory: int, outputs: int) -> int:
    """Multiply-adds from the second layer of the pre-net to the distribution and the stop logit."""
    width = size.decoder.width
    attended = size.decoder.layers * (2 * steps * width**2 + 2 * steps * memory * width)
    around = size.prenet**2 + size.prenet * width + width * (outputs + 1)
    return _encoder(size.decoder, steps) + attended + steps * around


def _frames(size: ModelDims, frames: int, *, n_mels: int) -> int:
    """Multiply-adds per frame: the MLP on the latents, and the post-net."""
    postnet = 2 * n_mels * size.postnet + (POSTNET_LAYERS - 2) * size.postnet**2
    return frames * (2 * n_mels * size.prenet + POSTNET_KERNEL * postnet)
