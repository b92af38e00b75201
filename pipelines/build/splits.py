"""The split of each utterance, train or validation: by a stable hash of its text, speaker or id."""

from __future__ import annotations

import hashlib
import unicodedata
from pathlib import Path
from typing import NamedTuple

from pipelines.config import BuildConfig
from preprocess.text import spoken_characters
from preprocess.utterance import Rejection, Utterance
from shared.errors import UserError
from shared.hashing import split_of

MAX_HELD_OUT_BYTES = 1 << 28

_SILENT_ASCII = bytes(code for code in range(128) if not chr(code).isalnum())


class SplitRule(NamedTuple):
    """The hash rule, and the names of utterances and speakers that always belong to validation."""

    validation_fraction: float
    split_by: str
    held_out: frozenset[str]

    @classmethod
    def from_config(cls, config: BuildConfig) -> SplitRule:
        """The rule of a config.

        Raises:
            UserError: the list of held-out names cannot be read.
        """
        held_out = frozenset() if config.held_out is None else frozenset(_read_names(config.held_out))
        return cls(config.validation_fraction, config.split_by, held_out)

    def split_of(self, element: Utterance | Rejection) -> str:
        """`train` or `validation`; a rejected row is split by its id."""
        if isinstance(element, Rejection):
            return split_of(element.id, validation_fraction=self.validation_fraction)
        if element.id in self.held_out or element.speaker in self.held_out:
            return "validation"
        return split_of(self._split_key(element), validation_fraction=self.validation_fraction)

    def _split_key(self, utterance: Utterance) -> str:
        if self.split_by == "speaker":
            return utterance.speaker
        return (self.split_by == "text" and spoken_form(utterance.text)) or utterance.id


def spoken_form(text: str) -> str:
    """The text in lower case without punctuation and spaces: two texts with the same form sound the same."""
    if text.isascii():  # the same result in a tenth of the time
        return text.encode().lower().translate(None, _SILENT_ASCII).decode()
    return spoken_characters(unicodedata.normalize("NFKC", text).casefold())


def text_key(text: str, *, utterance_id: str) -> int:
    """64-bit hash of a text's spoken form, or of the id for a text without letters and digits."""
    form = spoken_form(text) or utterance_id
    return int.from_bytes(hashlib.blake2b(form.encode(), digest_size=8).digest(), "big")


def _read_names(path: Path) -> list[str]:
    try:
        if path.stat().st_size > MAX_HELD_OUT_BYTES:
            raise UserError(f"held_out: {path} is over {MAX_HELD_OUT_BYTES} bytes; expected one name per line")
        lines = path.read_text(encoding="utf-8-sig").split("\n")  # names may contain Unicode's other line ends
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise UserError(f"held_out: {path}: {reason}; expected one name per line") from error
    return [name for line in lines if (name := line.strip(" \t"))]
