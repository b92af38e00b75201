"""What a training step computes, by formula: the operations of its matrix products and convolutions.

A multiply-add is two operations. The backward pass has two products for each of the forward pass, one towards the
input and one towards the weights (Kaplan et al., 2020, arXiv:2001.08361, section 2.1); towards data there is none.
What is elementwise (norms, softmax, GELU, the optimizer) counts nothing, nor does what rematerialisation computes
twice, nor the loss of voices: so is the utilisation of a model defined (Chowdhery et al., 2022, arXiv:2204.02311,
appendix B). Padding counts, for it is computed with; of causal attention all N² scores are.
"""

from __future__ import annotations

from trainer.config.model_config import ModelConfig
from trainer.config.model_sizes import SIZES, Size, Stack
from trainer.data.buckets import Bucket
from trainer.model.decoder import POSTNET_KERNEL, POSTNET_LAYERS
from trainer.model.reference_encoder import CROP_KERNEL, CROP_STRIDE, NUM_LATENTS, RESAMPLER_LAYERS, STYLE_WIDTH


def step_flops(config: ModelConfig, bucket: Bucket, *, n_mels: int) -> int:
    """Operations of forward and backward pass on a batch of a shape, [B, F] frames and [B, T] tokens."""
    size, r = SIZES[config.size], config.frames_per_step
    crop = (min(config.crop_frames, bucket.frames) - 1) // CROP_STRIDE + 1
    latents = NUM_LATENTS + (config.style_tokens > 0)
    heard = crop * CROP_KERNEL * n_mels * size.audio_encoder.width
    prenet = bucket.frames // r * r * n_mels * size.prenet
    forward = (
        _encoder(size.text_encoder, bucket.tokens)
        + heard
        + _audio_encoder(size, crop, style_tokens=config.style_tokens)
        + _memory(size, latents=latents, tokens=bucket.tokens)
        + prenet
        + _decoder(size, bucket.frames // r, memory=latents + bucket.tokens, outputs=2 * r * n_mels)
        + _frames(size, bucket.frames, n_mels=n_mels)
    )
    return 2 * bucket.clips * (3 * forward - heard - prenet)


def _encoder(stack: Stack, positions: int) -> int:
    """Multiply-adds of blocks over a sequence: four projections, scores and mixture, a feed-forward layer of 4 D."""
    return stack.layers * (12 * positions * stack.width**2 + 2 * positions**2 * stack.width)


def _audio_encoder(size: Size, positions: int, *, style_tokens: int) -> int:
    """Multiply-adds after the convolution: blocks, resampler, speaker and, where there are any, style tokens."""
    width, keys = size.audio_encoder.width, positions + NUM_LATENTS
    resampled = 10 * NUM_LATENTS * width**2 + 2 * keys * width**2 + 2 * NUM_LATENTS * keys * width
    style = 2 * width * STYLE_WIDTH + 2 * (1 + style_tokens) * STYLE_WIDTH**2 + 2 * style_tokens * STYLE_WIDTH
    return (
        _encoder(size.audio_encoder, positions)
        + RESAMPLER_LAYERS * resampled
        + width * size.speaker
        + (style if style_tokens else 0)
    )


def _memory(size: Size, *, latents: int, tokens: int) -> int:
    """Multiply-adds of what the decoder attends to: projected once, then to keys and values of each block."""
    width = size.decoder.width
    projected = latents * size.audio_encoder.width + tokens * size.text_encoder.width + size.speaker
    return projected * width + size.decoder.layers * 2 * (latents + tokens) * width**2


def _decoder(size: Size, steps: int, *, memory: int, outputs: int) -> int:
    """Multiply-adds from the second layer of the pre-net to distribution and stop."""
    width = size.decoder.width
    attended = size.decoder.layers * (2 * steps * width**2 + 2 * steps * memory * width)
    around = size.prenet**2 + size.prenet * width + width * (outputs + 1)
    return _encoder(size.decoder, steps) + attended + steps * around


def _frames(size: Size, frames: int, *, n_mels: int) -> int:
    """Multiply-adds of what is done frame by frame: the MLP on z, and the post-net."""
    postnet = 2 * n_mels * size.postnet + (POSTNET_LAYERS - 2) * size.postnet**2
    return frames * (2 * n_mels * size.prenet + POSTNET_KERNEL * postnet)
