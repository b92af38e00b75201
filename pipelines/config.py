"""What a build is asked to do."""

from __future__ import annotations

from typing import Annotated, Literal

import pydantic

from preprocess.checks import CheckConfig
from preprocess.corpora.source import SourceConfig
from shared.config import Config
from shared.dataset import NAME_PATTERN
from shared.features import PRESETS

SourceName = Annotated[str, pydantic.Field(pattern=f"^{NAME_PATTERN}$")]


class BuildConfig(Config):
    """The content of `configs/preprocess_*.yaml`."""

    sources: dict[SourceName, SourceConfig] = pydantic.Field(min_length=1)
    tokenizer: str  # a tokenizer.json, or the name of a hub repository that has one
    features: str = "hifigan-22k"
    mel_dtype: Literal["float16", "float32"] = "float16"
    validation_fraction: float = pydantic.Field(0.02, ge=0, lt=1)
    utterances_per_shard: int = pydantic.Field(512, ge=1)
    checks: CheckConfig = CheckConfig()
    max_rejected_fraction: float = pydantic.Field(0.05, ge=0, le=1)  # of all, and of each language
    workers: int | None = pydantic.Field(None, ge=1)  # processes; without it, by the size of the job

    @pydantic.field_validator("features")
    @classmethod
    def _known(cls, features: str) -> str:
        if features not in PRESETS:
            raise ValueError(f"wanted one of {', '.join(PRESETS)}")
        return features
