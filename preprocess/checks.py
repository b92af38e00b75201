"""What an utterance must satisfy to be worth training on; every bound is a value of the config."""

from __future__ import annotations

import pydantic

from preprocess.audio import Audio
from preprocess.utterance import Reason, Rejected
from shared.config import Config
from shared.vocabulary import UNKNOWN_ID


class CheckConfig(Config):
    """Bounds; an utterance outside one of them is rejected with a reason of its own."""

    min_duration_s: float = pydantic.Field(0.4, gt=0)
    max_duration_s: float = pydantic.Field(20.0, gt=0, le=3600)
    max_tokens: int = pydantic.Field(400, ge=3)
    max_unknown_fraction: float = pydantic.Field(0.2, ge=0, le=1)


def check_tokens(tokens: tuple[int, ...], *, bounds: CheckConfig) -> None:
    """Raises Rejected for text that is empty, too long, or mostly unknown to the tokenizer."""
    pieces = len(tokens) - 2
    if pieces < 1:
        raise Rejected(Reason.EMPTY_TEXT, "nothing is left of the text after its preparation")
    if len(tokens) > bounds.max_tokens:
        raise Rejected(Reason.TOO_MANY_TOKENS, f"{len(tokens)} tokens, at most {bounds.max_tokens}")
    unknown = tokens.count(UNKNOWN_ID)
    if unknown > bounds.max_unknown_fraction * pieces:
        raise Rejected(Reason.TOO_MANY_UNKNOWNS, f"{unknown} of {pieces} tokens are <unk>")


def check_duration(audio: Audio, *, bounds: CheckConfig, min_samples: int) -> None:
    """Raises Rejected for a recording outside the bounds or too short for one mel frame."""
    if audio.duration_s > bounds.max_duration_s:
        raise Rejected(Reason.TOO_LONG, f"{audio.duration_s:.2f} s, at most {bounds.max_duration_s} s")
    if audio.duration_s < bounds.min_duration_s or len(audio.samples) < min_samples:
        raise Rejected(Reason.TOO_SHORT, f"{audio.duration_s:.3f} s, at least {bounds.min_duration_s} s")
