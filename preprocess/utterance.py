"""Utterances as the readers list them, rejections, and the closed list of rejection reasons."""

from __future__ import annotations

import dataclasses
import enum

NO_CUSTOM = "{}"


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Utterance:
    """A text and a reference to its recording: small enough to be shuffled."""

    id: str  # source/id, unique in the dataset
    audio_path: str
    text: str
    language: str  # FLORES-200
    speaker: str  # source/name
    custom: str = NO_CUSTOM  # a JSON object: the further columns of the metadata that the config asks for
    split: str = dataclasses.field(default="", repr=False)  # to which the corpus assigns it; empty: none stated


class Reason(enum.StrEnum):
    """Why an utterance is not in the shards: a closed list, counted per dataset.

    Utterances with a reason up to `EMPTY_TEXT` have no record. Those with a later reason are stored as withheld
    records; another threshold brings them back without decoding.
    """

    BAD_METADATA_ROW = "bad_metadata_row"
    UNSAFE_PATH = "unsafe_path"
    UNKNOWN_LANGUAGE = "unknown_language"
    TEXT_TOO_LONG = "text_too_long"
    NOT_SELECTED = "not_selected"
    DUPLICATE_ID = "duplicate_id"
    MISSING_AUDIO = "missing_audio"
    UNREADABLE_AUDIO = "unreadable_audio"
    TRUNCATED_AUDIO = "truncated_audio"
    EMPTY_AUDIO = "empty_audio"
    NON_FINITE_AUDIO = "non_finite_audio"
    UNDECODED_LENGTH = "undecoded_length"
    NOT_PLAIN_WAV = "not_plain_wav"
    EMPTY_TEXT = "empty_text"

    TOO_SHORT = "too_short"
    TOO_LONG = "too_long"
    TOO_MANY_FRAMES = "too_many_frames"
    TOO_MANY_TOKENS = "too_many_tokens"
    TOO_MANY_UNKNOWNS = "too_many_unknowns"
    UNREAD_NUMBERS = "unread_numbers"
    TOO_SLOW = "too_slow"
    TOO_FAST = "too_fast"
    TOO_QUIET = "too_quiet"
    TOO_LOUD = "too_loud"
    CLIPPED = "clipped"
    SILENCE = "silence"
    NOISY = "noisy"
    DC_OFFSET = "dc_offset"
    NARROW_BAND = "narrow_band"
    DUPLICATE_AUDIO = "duplicate_audio"
    REPEATED_TEXT = "repeated_text"
    LEAKED_TEXT = "leaked_text"
    OVER_CAP = "over_cap"


# Reasons that come from the config's limits and not from a fault of the utterance.
EXCLUDED_BY_CONFIG = frozenset({Reason.NOT_SELECTED, Reason.OVER_CAP})

# The stage of the rejections of recordings that the disk failed to read.
READING_STAGE = "reading"

# The stage of the rejections of recordings in a format whose reader is not installed.
READER_STAGE = "reader"

# Rejections that do not follow from the utterance: the next build prepares it again.
RETRIED_STAGES = frozenset({READING_STAGE, READER_STAGE})

# The stage of the rejections of recordings that ended the process that prepared them.
CRASH_STAGE = "crash"

# The stage of the rejections of utterances that have a record.
FILTER_STAGE = "selection"


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Rejection:
    """An utterance that is not in the shards, or a metadata row that is not a valid utterance."""

    id: str
    audio_path: str
    language: str  # FLORES-200; empty if the row does not state it
    stage: str  # "corpus", "text", READING_STAGE, READER_STAGE, "audio", CRASH_STAGE, "shard" or FILTER_STAGE
    reason: Reason
    message: str


class Rejected(Exception):
    """Raised while one utterance is prepared; becomes its `Rejection`."""

    def __init__(self, reason: Reason, message: str):
        super().__init__(message)
        self.reason, self.message = reason, message


class MissingReader(Rejected):
    """The package that reads a recording's format is not installed."""

    def __init__(self, message: str):
        super().__init__(Reason.UNREADABLE_AUDIO, message)


def rejection(utterance: Utterance, *, stage: str, reason: Reason, message: str) -> Rejection:
    """The rejection of an utterance."""
    return Rejection(
        id=utterance.id,
        audio_path=utterance.audio_path,
        language=utterance.language,
        stage=stage,
        reason=reason,
        message=message,
    )
