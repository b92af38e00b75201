"""Settings of the speech that validation synthesises without teacher forcing."""

from __future__ import annotations

from typing import Literal, Self

import pydantic

from shared.config import Config


class SynthesisEvalConfig(Config):
    """The section `synthesis_eval`."""

    clips: int = pydantic.Field(4, ge=0, le=16)  # of the validation split; 0: no synthesis
    every: int = pydantic.Field(1, ge=1)  # validations
    listener: str | None = None  # measures word and character errors, such as pocketsphinx; None: not measured
    vocoder: str | None = None  # path of a vocoder file, for the sounds; None: Griffin-Lim
    pitch: bool = False  # measures differences in pitch and voicing, about a second a clip
    # whose lowest value makes the best checkpoint: the validation loss, or a measure of the synthesized clips
    best_by: Literal["loss", "mel_cepstral_distance_db", "mel_distance_db", "character_errors", "word_errors"] = "loss"

    @pydantic.model_validator(mode="after")
    def _measures_what_is_best(self) -> Self:
        if self.best_by != "loss" and not self.clips:
            raise ValueError(f"best_by={self.best_by} is a measure of synthesized clips, and clips is 0")
        if self.best_by in ("character_errors", "word_errors") and self.listener in (None, "none"):
            raise ValueError(f"best_by={self.best_by} needs a listener, such as listener=pocketsphinx")
        return self
