"""The body of a request for speech, as OpenAI's API has it, with a few fields more."""

from __future__ import annotations

from typing import Literal

import pydantic

from trainer.config.speech_bounds import MAX_SPEED, MAX_TEMPERATURE, MIN_SPEED
from trainer.speech.options import SpeechOptions
from trainer.speech.voice_store import NO_VOICE


class VoiceId(pydantic.BaseModel):
    """A voice by its id, as OpenAI's clients may give it."""

    model_config = pydantic.ConfigDict(extra="forbid")

    id: str


class SpeechBody(pydantic.BaseModel):
    """What is to be spoken, and how."""

    model_config = pydantic.ConfigDict(extra="forbid")

    input: str
    model: str = ""  # one server has one model, whatever a client calls it
    voice: str | VoiceId = NO_VOICE
    response_format: Literal["mp3", "opus", "ogg", "flac", "wav", "pcm"] = "mp3"
    speed: float = pydantic.Field(1.0, ge=MIN_SPEED, le=MAX_SPEED)
    stream_format: Literal["audio"] = "audio"
    # not in OpenAI's API
    language: str | None = None  # None: the only one that the model was trained on
    seed: int = pydantic.Field(1, ge=0, lt=2**31)
    temperature: float = pydantic.Field(1.0, ge=0.0, le=MAX_TEMPERATURE)

    @property
    def voice_name(self) -> str | None:
        """The name of a saved voice; None: the model chooses a voice."""
        name = self.voice.id if isinstance(self.voice, VoiceId) else self.voice
        return None if name == NO_VOICE else name

    def options(self, *, max_sentence_s: float) -> SpeechOptions:
        """The options of the synthesizer."""
        return SpeechOptions(
            seed=self.seed, temperature=self.temperature, speed=self.speed, max_sentence_s=max_sentence_s
        )
