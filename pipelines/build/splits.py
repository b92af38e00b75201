"""Which utterances validation gets: by a stable hash of what must not stand in both splits."""

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

_UNSPOKEN_ASCII = bytes(code for code in range(128) if not chr(code).isalnum())


class Splits(NamedTuple):
    """The rule, and the names that are held out whatever it says."""

    validation_fraction: float
    split_by: str
    held_out: frozenset[str]

    @classmethod
    def from_config(cls, config: BuildConfig) -> Splits:
        """Raises UserError where the list of held-out names cannot be read."""
        held_out = frozenset() if config.held_out is None else frozenset(_read_names(config.held_out))
        return cls(config.validation_fraction, config.split_by, held_out)

    def split_of(self, element: Utterance | Rejection) -> str:
        """`train` or `validation`; a row that is no utterance goes by its id."""
        if isinstance(element, Rejection):
            return split_of(element.id, validation_fraction=self.validation_fraction)
        if element.id in self.held_out or element.speaker in self.held_out:
            return "validation"
        return split_of(self._subject(element), validation_fraction=self.validation_fraction)

    def _subject(self, utterance: Utterance) -> str:
        if self.split_by == "speaker":
            return utterance.speaker
        return (self.split_by == "text" and spoken_form(utterance.text)) or utterance.id


def spoken_form(text: str) -> str:
    """The text without what is not said: two texts of one form are one sentence."""
    if text.isascii():  # the same, in a tenth of the time
        return text.encode().lower().translate(None, _UNSPOKEN_ASCII).decode()
    return spoken_characters(unicodedata.normalize("NFKC", text).casefold())


def text_key(text: str, *, utterance_id: str) -> int:
    """64 bits of a text's spoken form; a text of which nothing is said is like no other."""
    form = spoken_form(text) or utterance_id
    return int.from_bytes(hashlib.blake2b(form.encode(), digest_size=8).digest(), "big")


def _read_names(path: Path) -> list[str]:
    try:
        if path.stat().st_size > MAX_HELD_OUT_BYTES:
            raise UserError(f"held_out: {path} is over {MAX_HELD_OUT_BYTES} bytes; wanted a name a line")
        lines = path.read_text(encoding="utf-8-sig").split("\n")  # names may hold what else Unicode calls a line's end
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise UserError(f"held_out: {path}: {reason}; wanted names, a line each") from error
    return [name for line in lines if (name := line.strip(" \t"))]
