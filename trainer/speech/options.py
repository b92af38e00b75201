"""Options of synthesis, and their ranges."""

from __future__ import annotations

from typing import NamedTuple

from shared.errors import UserError
from trainer.config.speech_bounds import MAX_GUIDANCE, MAX_SPEECH_S, MAX_SPEED, MAX_TEMPERATURE, MIN_SPEECH_S, MIN_SPEED


class SpeechOptions(NamedTuple):
    """How a text is spoken."""

    seed: int = 1  # of the noise; another seed gives another reading
    temperature: float = 1.0  # scale of the noise; 0: none
    stop_threshold: float = 0.5  # speech ends at the first step whose probability of the end exceeds it
    speed: float = 1.0  # 2: twice as fast, at the same pitch
    max_sentence_s: float = 20.0  # a sentence whose end is not predicted is cut off after so many seconds
    guidance: float = 1.0  # above 1 the speech is led towards the voice, away from speech without a reference
    is_guided: bool = True  # False: attention and end are the model's own

    def check(self) -> None:
        """Raises UserError if an option is out of range."""
        if not MIN_SPEECH_S <= self.max_sentence_s <= MAX_SPEECH_S:
            raise UserError(f"{self.max_sentence_s} seconds of speech: expected {MIN_SPEECH_S:g} to {MAX_SPEECH_S:.0f}")
        if not 0 <= self.seed < 2**31:
            raise UserError(f"seed {self.seed}: expected 0 to {2**31 - 1}")
        if not 0.0 <= self.stop_threshold <= 1.0:
            raise UserError(f"stop threshold {self.stop_threshold:g}: expected 0 to 1")
        if not MIN_SPEED <= self.speed <= MAX_SPEED:
            raise UserError(f"speed {self.speed:g}: expected {MIN_SPEED:g} to {MAX_SPEED:g}")
        if not 1.0 <= self.guidance <= MAX_GUIDANCE:
            raise UserError(f"guidance {self.guidance:g}: expected 1 to {MAX_GUIDANCE:g}")
        if not 0.0 <= self.temperature <= MAX_TEMPERATURE:
            raise UserError(f"temperature {self.temperature:g}: expected 0 to {MAX_TEMPERATURE:g}")
