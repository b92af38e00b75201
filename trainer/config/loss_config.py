"""Settings of the training loss: the weight and the form of each term."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import pydantic

from shared.config import Config


class GuidedAttentionConfig(Config):
    """How strongly attention is held to the diagonal, and until when: a speaker's pauses are not on it."""

    RENAMED: ClassVar[Mapping[str, str]] = {
        "falling_steps": "decay_steps",
    }

    weight: float = pydantic.Field(5.0, ge=0)  # of the penalty on attention off the diagonal
    width: float = pydantic.Field(0.2, gt=0)  # of the free diagonal, as a share of the text
    full_steps: int = pydantic.Field(20_000, ge=0)  # steps with the whole weight
    decay_steps: int = pydantic.Field(20_000, ge=1)  # steps after those, in which the weight falls to 0


class LossConfig(Config):
    """The section `loss`: the weight of each term."""

    mel: float = pydantic.Field(1.0, ge=0)  # weight of the distance between output and recorded mel
    mel_kind: Literal["l1_l2", "huber"] = "l1_l2"  # the sum of L1 and L2, or Huber's loss
    huber_delta: float = pydantic.Field(1.0, gt=0)  # larger differences count linearly; unit: standardised mels
    # weight of the latent distribution's divergence from a unit Gaussian around the target
    kl: float = pydantic.Field(0.1, ge=0)
    flux: float = pydantic.Field(0.02, ge=0)  # weight of the reward for change between frames
    stop: float = pydantic.Field(0.5, ge=0)  # weight of the end prediction
    stop_positive_weight: float = pydantic.Field(10.0, ge=1)  # one of a clip's 50 to 200 steps is the last one
    guided_attention: GuidedAttentionConfig = GuidedAttentionConfig()
    adaptive: bool = False  # weights become shares of the gradient: trainer/training/gradnorm.py

    @pydantic.model_validator(mode="before")
    @classmethod
    def _without_voice(cls, values: object) -> object:
        """Leave out the weight of an older version's voice loss, which it noted in each run, if it was off."""
        if isinstance(values, dict) and values.get("voice") == 0:
            return {name: value for name, value in values.items() if name != "voice"}
        return values
