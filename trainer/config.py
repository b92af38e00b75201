"""What a training run is asked to do."""

from __future__ import annotations

from typing import Any, get_args

import pydantic

from shared.config import Config
from trainer.free_running import FreeRunningConfig
from trainer.input.config import InputConfig
from trainer.losses import LossConfig
from trainer.model.xtts import ModelConfig
from trainer.optimization.config import OptimizerConfig
from trainer.optimization.levels import Level, with_level
from trainer.optimization.plateau import PlateauConfig
from trainer.recovery import RecoveryConfig


class TrainConfig(Config):
    """The content of `configs/train_*.yaml`."""

    level: Level | None = None  # named settings below those that are given: trainer/optimization/levels/*.yaml
    model: ModelConfig = ModelConfig()
    input: InputConfig = InputConfig()
    optimizer: OptimizerConfig = OptimizerConfig()
    plateau: PlateauConfig | None = None  # what is done where the validation loss stands still; None: nothing
    loss: LossConfig = LossConfig()
    recovery: RecoveryConfig = RecoveryConfig()
    free_running: FreeRunningConfig = FreeRunningConfig()
    steps: int = pydantic.Field(200_000, ge=1)
    log_every: int = pydantic.Field(50, ge=1)  # steps, as those below
    validate_every: int = pydantic.Field(1_000, ge=1)
    checkpoint_every: int = pydantic.Field(1_000, ge=1)
    kept_checkpoints: int = pydantic.Field(3, ge=1)
    xla: bool = True  # compile the step; without, the same graph runs as it is
    seed: int = pydantic.Field(1, ge=0, lt=2**31)

    @property
    def intervals(self) -> tuple[int, int, int]:
        """At which a run pauses."""
        return self.log_every, self.validate_every, self.checkpoint_every

    def is_due(self, step: int, *intervals: int) -> bool:
        """Whether something is, that is done at such intervals and at the end, after step `step`."""
        return step == self.steps or any(step % interval == 0 for interval in intervals)

    @pydantic.model_validator(mode="before")
    @classmethod
    def _of_its_level(cls, document: Any) -> Any:
        """The document over its level's settings; what is wrong in it is left for pydantic to say."""
        if not isinstance(document, dict) or document.get("level") not in get_args(Level):
            return document
        model = document.get("model", {})
        size = model.get("size", ModelConfig().size) if isinstance(model, dict) else getattr(model, "size", None)
        return with_level(document, level=document["level"], size=str(size))
