"""Settings of the plateau watch: when a validation loss counts as stalled, and what the trainer does then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import pydantic

from shared.config import Config


class PlateauConfig(Config):
    """The section `plateau`, named after Keras' `ReduceLROnPlateau`."""

    RENAMED: ClassVar[Mapping[str, str]] = {
        "least_gain": "min_delta",
        "settling": "cooldown",
        "most_actions": "max_reductions",
    }

    action: Literal["lower", "restart"] = "lower"  # lower the rate from now on, or restart its schedule
    factor: float = pydantic.Field(0.5, gt=0, le=1)  # by which either action multiplies the rate
    patience: int = pydantic.Field(10, ge=1)  # validations without an improvement that make a plateau
    min_delta: float = pydantic.Field(0.002, ge=0, lt=1)  # relative to the best loss: a smaller gain is none
    cooldown: int = pydantic.Field(2, ge=0)  # validations after an action that do not count towards a plateau
    max_reductions: int = pydantic.Field(4, ge=0)  # the plateau after these ends the run; 0: the first one does
