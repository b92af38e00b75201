"""Settings of the optimizer: AdamW, its learning-rate schedule, weight averaging and micro-batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import pydantic

from shared.config import Config
from trainer.config.schedule_config import Cosine, Schedule


class OptimizerConfig(Config):
    """The section `optimizer`."""

    RENAMED: ClassVar[Mapping[str, str]] = {
        "accumulation": "microbatches",
    }

    learning_rate: float = pydantic.Field(3e-4, gt=0)  # peak of the schedule
    warmup_steps: int = pydantic.Field(1_000, ge=0)  # linear rise of the rate from 0 to its peak
    schedule: Schedule = Cosine()
    weight_decay: float = pydantic.Field(0.01, ge=0)  # decoupled, as in AdamW, of matrices
    beta_1: float = pydantic.Field(0.9, gt=0, lt=1)  # decay of the first moment
    beta_2: float = pydantic.Field(0.98, gt=0, lt=1)  # decay of the second moment
    epsilon: float = pydantic.Field(1e-8, gt=0)  # added to the root of the second moment
    clip_norm: float = pydantic.Field(1.0, gt=0)  # global norm
    ema_decay: float = pydantic.Field(0.0, ge=0, lt=1)  # of an exponential moving average of the weights; 0: none
    microbatches: int = pydantic.Field(
        1, ge=1
    )  # parts of a batch, one after another (gradient accumulation): less memory
