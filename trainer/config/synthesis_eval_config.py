"""Settings of the speech that validation synthesises without teacher forcing."""

from __future__ import annotations

import pydantic

from shared.config import Config


class SynthesisEvalConfig(Config):
    """The section `synthesis_eval`."""

    clips: int = pydantic.Field(4, ge=0, le=16)  # of the validation split; 0: no synthesis
    every: int = pydantic.Field(1, ge=1)  # validations
