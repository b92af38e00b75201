"""What a training run is asked to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import pydantic

from shared.config import Config, Document
from trainer.config.data_config import InputConfig
from trainer.config.loss_config import LossConfig
from trainer.config.model_config import ModelConfig
from trainer.config.optim_config import OptimizerConfig
from trainer.config.plateau_config import PlateauConfig
from trainer.config.presets import Level, laid_over, level_settings, without_what_is_none
from trainer.config.recovery_config import RecoveryConfig
from trainer.config.synthesis_eval_config import SynthesisEvalConfig


class TrainConfig(Config):
    """The content of `configs/train_*.yaml`."""

    level: Level | None = None  # named settings below those that are given: trainer/config/presets/*.yaml
    model: ModelConfig = ModelConfig()
    input: InputConfig = InputConfig()
    optimizer: OptimizerConfig = OptimizerConfig()
    plateau: PlateauConfig | None = None  # what is done where the validation loss stands still; None: nothing
    loss: LossConfig = LossConfig()
    recovery: RecoveryConfig = RecoveryConfig()
    free_running: SynthesisEvalConfig = SynthesisEvalConfig()
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

    @classmethod
    def overridden(cls, document: Document, *, words: Sequence[str]) -> Document:
        """The file's document under a level among the words, if there is one, and that under the other words.

        What the file settles would else leave nothing of a level that is asked for.
        """
        asked = super().overridden({}, words=words)
        whole = super().overridden(document, words=words)
        level = asked.get("level")
        if not isinstance(level, str) or level not in get_args(Level):
            return whole
        settings = without_what_is_none(level_settings(level, size=_size(whole)), document=document)
        return laid_over(laid_over(document, above=settings), above=asked)

    @pydantic.model_validator(mode="before")
    @classmethod
    def _of_its_level(cls, document: Any) -> Any:
        """The document over its level's settings; what is wrong in it is left for pydantic to say."""
        if not isinstance(document, dict) or document.get("level") not in get_args(Level):
            return document
        return laid_over(level_settings(document["level"], size=_size(document)), above=document)


def _size(document: Document) -> str:
    """Of the model that a document asks for."""
    model = document.get("model", {})
    return str(model.get("size", ModelConfig().size) if isinstance(model, dict) else getattr(model, "size", None))
