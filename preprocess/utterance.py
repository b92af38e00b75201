"""An utterance of a corpus before anything was computed, and the reasons why one is turned away."""

from __future__ import annotations

import dataclasses
import enum


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Utterance:
    """A reference to a recording and its text: under 1 kB, so that it can be shuffled."""

    id: str  # source/id, unique in the dataset
    audio_path: str
    text: str
    language: str  # FLORES-200
    speaker: str  # source/name


class Reason(enum.StrEnum):
    """Why an utterance is not in the shards: a closed list, counted per dataset."""

    BAD_METADATA_ROW = "bad_metadata_row"
    UNSAFE_PATH = "unsafe_path"
    DUPLICATE_ID = "duplicate_id"
    MISSING_AUDIO = "missing_audio"
    UNREADABLE_AUDIO = "unreadable_audio"
    EMPTY_AUDIO = "empty_audio"
    NON_FINITE_AUDIO = "non_finite_audio"
    TOO_SHORT = "too_short"
    TOO_LONG = "too_long"
    EMPTY_TEXT = "empty_text"
    TOO_MANY_TOKENS = "too_many_tokens"
    TOO_MANY_UNKNOWNS = "too_many_unknowns"


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Rejection:
    """An utterance that is not in the shards, or a metadata row that is no utterance."""

    id: str
    audio_path: str
    stage: str  # "corpus", "text", "audio" or "shard"
    reason: Reason
    message: str


class Rejected(Exception):
    """Raised inside the preparation of one utterance; becomes its `Rejection`."""

    def __init__(self, reason: Reason, message: str):
        super().__init__(message)
        self.reason, self.message = reason, message
