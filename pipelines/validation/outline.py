"""What the encoder makes of a manifest row, all but the mel and the tokens.

A sound record is told by these bytes in a few comparisons: its fields, their order and kinds, its lengths, texts and
ids are then those of its row. Only a record that does not look so is taken apart.

    Example { frames language mel[F, M] │ speaker text │ tokens[T] │ utterance_id }
              └──── head ────┘            └─ middle ─┘               └── tail ──┘
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from pipelines.validation.rows import Row
from shared.dataset import Contract
from shared.languages import CODES, language_id
from shared.records import MEL_DTYPES, mel_rows, opening, varint


class Outline(NamedTuple):
    """The bytes of a payload around mel and tokens, and where those end."""

    head: bytes
    mel_end: int
    middle: bytes
    tokens_end: int
    tail: bytes


class Outlines:
    """Outlines of the records of one dataset."""

    def __init__(self, *, contract: Contract, speakers: dict[str, int]):
        """`speakers` holds the id of each."""
        self._mel_dtype = contract.mel_dtype
        self._row_bytes = contract.features.n_mels * MEL_DTYPES[contract.mel_dtype].itemsize
        self._speakers = {name: _entry("speaker", varint(number)) for name, number in speakers.items()}

    def of(self, row: Row, *, payload_bytes: int) -> Outline | None:
        """The outline of a payload of so many bytes; None where the row can have no such record."""
        speaker = self._speakers.get(row.speaker)
        if speaker is None or row.frames < 1 or not row.text or row.language not in _LANGUAGES:
            return None
        mel_bytes = mel_rows(row.frames, mel_dtype=self._mel_dtype) * self._row_bytes
        head = _outermost(payload_bytes) + _head(row.frames, row.language, mel_bytes)
        middle = speaker + _entry("text", row.text.encode())
        tail = _entry("utterance_id", row.utterance_id.encode())
        mel_end, tokens_end = len(head) + mel_bytes, payload_bytes - len(tail)
        tokens = _tokens_opening(tokens_end - mel_end - len(middle))
        return Outline(head, mel_end, middle + tokens, tokens_end, tail) if tokens else None


_LANGUAGES = frozenset(CODES)


def _entry(name: str, value: bytes) -> bytes:
    return opening(name, value_bytes=len(value)) + value


@functools.lru_cache(1 << 16)
def _head(frames: int, language: str, mel_bytes: int) -> bytes:
    entries = _entry("frames", varint(frames)) + _entry("language", varint(language_id(language)))
    return entries + opening("mel", value_bytes=mel_bytes)


@functools.lru_cache(1 << 16)
def _outermost(payload_bytes: int) -> bytes:
    """Tag and length of an Example's one field."""
    for length_bytes in range(1, 6):
        length = varint(max(payload_bytes - 1 - length_bytes, 0))
        if len(length) == length_bytes:
            break
    return b"\x0a" + length


@functools.lru_cache(1 << 14)
def _tokens_opening(entry_bytes: int) -> bytes | None:
    """What stands before the tokens in an entry of so many bytes; None where there is no such entry."""
    for opening_bytes in range(14, 34):
        found = opening("tokens", value_bytes=max(entry_bytes - opening_bytes, 0))
        if len(found) == opening_bytes <= entry_bytes:
            return found
    return None
