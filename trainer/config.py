"""What a training run is asked to do."""

from __future__ import annotations

import pydantic

from shared.config import Config
from trainer.input.config import InputConfig
from trainer.losses import LossConfig
from trainer.model.xtts import ModelConfig
from trainer.optimization.config import OptimizerConfig


class TrainConfig(Config):
    """The content of `configs/train_*.yaml`."""

    model: ModelConfig = ModelConfig()
    input: InputConfig = InputConfig()
    optimizer: OptimizerConfig = OptimizerConfig()
    loss: LossConfig = LossConfig()
    steps: int = pydantic.Field(200_000, ge=1)
    log_every: int = pydantic.Field(50, ge=1)  # steps, as those below
    validate_every: int = pydantic.Field(1_000, ge=1)
    checkpoint_every: int = pydantic.Field(1_000, ge=1)
    kept_checkpoints: int = pydantic.Field(3, ge=1)
    seed: int = pydantic.Field(1, ge=0, lt=2**31)
