"""Settings of the network: its size, its input crops, regularisation and precision."""

from __future__ import annotations

from typing import Literal

import pydantic

from shared.config import Config


class ModelConfig(Config):
    """The section `model`."""

    # widths and depths of the networks: trainer/config/model_sizes.py
    size: Literal["pico", "nano", "tiny", "small", "normal", "big"] = "normal"
    # frames that a decoder step makes; 4 at hop 256 and 22,050 Hz are 21.53 steps/s, as in XTTS-v2
    frames_per_step: int = pydantic.Field(4, ge=1)
    crop_frames: int = pydantic.Field(256, ge=8)  # longest crop of the reference that the network is given
    # probability, in all networks; the decoder's pre-net always has its own
    dropout: float = pydantic.Field(0.1, ge=0, lt=1)
    reference_dropout: float = pydantic.Field(0.1, ge=0, lt=1)  # share of clips that are trained without a reference
    # of activations; float32 weights are kept in any case
    precision: Literal["float32", "bfloat16", "float16"] = "bfloat16"
    # on GPUs from Ampere on: products of float32 in TensorFloat-32, with 10 bits of mantissa and several times as fast
    tensor_float_32: bool = True
    positions: Literal["sinusoidal", "rotary"] = "sinusoidal"  # kind of position embeddings
    style_tokens: int = pydantic.Field(0, ge=0)  # global style tokens, 10 in their paper; 0: none
    # recompute activations in the backward pass (gradient checkpointing): less memory, a third more computation
    rematerialise: bool = False


# settings that leave the shapes of the weights as they are, so that a resumed run may change them
CHANGEABLE = {"precision", "tensor_float_32", "dropout", "reference_dropout", "crop_frames", "rematerialise"}
