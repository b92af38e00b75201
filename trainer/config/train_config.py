"""The settings of a training run: the content of `configs/train_*.yaml`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, get_args

import pydantic

from shared.config import Config, Document
from trainer.config.data_config import InputConfig
from trainer.config.loss_config import LossConfig
from trainer.config.model_config import ModelConfig
from trainer.config.optim_config import OptimizerConfig
from trainer.config.plateau_config import PlateauConfig
from trainer.config.presets import Preset, merged, preset_settings, without_malformed_sections
from trainer.config.rate_factors_config import RateFactorsConfig
from trainer.config.recovery_config import RecoveryConfig
from trainer.config.synthesis_eval_config import SynthesisEvalConfig


class TrainConfig(Config):
    """All settings of a training run, by section."""

    RENAMED: ClassVar[Mapping[str, str]] = {"level": "preset", "free_running": "synthesis_eval"}

    preset: Preset | None = None  # named settings, which those given here override: trainer/config/presets/*.yaml
    # choose precision, microbatches, batch shapes and input by trials when the run begins, as `make tune` does
    auto: bool = False
    model: ModelConfig = ModelConfig()
    input: InputConfig = InputConfig()
    optimizer: OptimizerConfig = OptimizerConfig()
    plateau: PlateauConfig | None = None  # reaction to a validation loss that no longer falls; None: none
    loss: LossConfig = LossConfig()
    recovery: RecoveryConfig = RecoveryConfig()
    synthesis_eval: SynthesisEvalConfig = SynthesisEvalConfig()
    # path of a run or an export, with whose weights a new run begins; None: fresh weights
    init_from: str | None = None
    rate_factors: RateFactorsConfig = RateFactorsConfig()
    steps: int = pydantic.Field(200_000, ge=1)  # length of the run
    log_every: int = pydantic.Field(50, ge=1)  # interval of logged metrics
    validate_every: int = pydantic.Field(1_000, ge=1)  # interval of validations
    checkpoint_every: int = pydantic.Field(1_000, ge=1)  # interval of checkpoints
    kept_checkpoints: int = pydantic.Field(3, ge=1)  # latest checkpoints that are kept, besides the best
    xla: bool = True  # compile the step; false runs the same graph uncompiled
    seed: int = pydantic.Field(1, ge=0, lt=2**31)  # of weights, batch order, dropout and noise

    @property
    def intervals(self) -> tuple[int, int, int]:
        """The intervals, in steps, after which the training loop leaves its inner loop."""
        return self.log_every, self.validate_every, self.checkpoint_every

    def is_due(self, step: int, *intervals: int) -> bool:
        """True after step `step` for an action that is taken at each of these intervals and at the end of the run."""
        return step == self.steps or any(step % interval == 0 for interval in intervals)

    @classmethod
    def overridden(cls, document: Document, *, words: Sequence[str]) -> Document:
        """A file's document with `key=value` words laid over it.

        A preset among the words overrides the file: otherwise the settings of the file would hide the preset that was
        asked for. The other words override both.
        """
        given = super().overridden({}, words=words)
        whole = super().overridden(document, words=words)
        preset = given.get("preset")
        if not isinstance(preset, str) or preset not in get_args(Preset):
            return whole
        settings = without_malformed_sections(preset_settings(preset, size=_size(whole)), document=document)
        return merged(merged(document, overrides=settings), overrides=given)

    @pydantic.model_validator(mode="before")
    @classmethod
    def _over_its_preset(cls, document: Any) -> Any:
        """Lay the document over the settings of its preset; pydantic reports what is wrong in the document."""
        if not isinstance(document, dict) or document.get("preset") not in get_args(Preset):
            return document
        return merged(preset_settings(document["preset"], size=_size(document)), overrides=document)


def _size(document: Document) -> str:
    """The model size that a document asks for."""
    model = document.get("model", {})
    return str(model.get("size", ModelConfig().size) if isinstance(model, dict) else getattr(model, "size", None))
