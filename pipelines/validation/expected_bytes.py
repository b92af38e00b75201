"""Predicts the bytes of a record from its manifest row, except for the mel and the tokens.

A valid record contains exactly these bytes, so it is checked by a few comparisons, without parsing. Only a record that
differs is parsed.

    header │ Example { frames language mel[F, M] │ speaker text │ tokens[T] │ utterance_id } │ checksum
    └────────── head ────────────┘               └─ middle ─┘               └── tail ──┘
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import NamedTuple

from pipelines.validation.manifest_rows import ManifestRow
from shared.dataset import Contract
from shared.languages import CODES, language_id
from shared.records import FIELDS, MEL_DTYPES, encode_varint, field_header, mel_rows
from shared.tfrecord import FOOTER_BYTES, HEADER_BYTES, MAX_PAYLOAD_BYTES, record_header


class FrameTemplate(NamedTuple):
    """Expected bytes of a framed record around its mel and tokens, without the last checksum."""

    head: bytes
    mel_end: int
    middle: bytes
    tokens_end: int
    tail: bytes


class FrameTemplates:
    """Builds the templates of the records of one dataset."""

    def __init__(self, *, contract: Contract, speakers: Mapping[str, int]):
        """`speakers` maps names to ids; only the names that rows contain are looked up."""
        self._mel_dtype = contract.mel_dtype
        self._row_bytes = contract.features.n_mels * MEL_DTYPES[contract.mel_dtype].itemsize
        self._has_templates = contract.record_fields == FIELDS
        self._speakers, self._entries = speakers, dict[str, bytes]()

    def of(self, row: ManifestRow) -> FrameTemplate | None:
        """The template of a row's record; None if no valid record can belong to the row, or records have more fields.

        Records with waveforms, pitch or energy are parsed, which takes longer.
        """
        if not self._has_templates:
            return None
        speaker = self._speaker(row.speaker)
        payload_bytes = row.length_bytes - HEADER_BYTES - FOOTER_BYTES
        if speaker is None or row.frames < 1 or not row.text or row.language not in _LANGUAGES:
            return None
        if not 0 < payload_bytes <= MAX_PAYLOAD_BYTES:
            return None
        text, name = row.text.encode(), row.utterance_id.encode()
        fields, mel_bytes = _before_mel(row.frames, row.language, self._mel_dtype, self._row_bytes)
        head = _before_example(payload_bytes) + fields
        middle = speaker + _before_text(len(text)) + text
        tail = _before_name(len(name)) + name
        mel_end, tokens_end = len(head) + mel_bytes, HEADER_BYTES + payload_bytes - len(tail)
        tokens = _tokens_opening(tokens_end - mel_end - len(middle))
        return FrameTemplate(head, mel_end, middle + tokens, tokens_end, tail) if tokens else None

    def _speaker(self, name: str) -> bytes | None:
        if name not in self._entries and name in self._speakers:
            self._entries[name] = _entry("speaker", encode_varint(self._speakers[name]))
        return self._entries.get(name)


_LANGUAGES = frozenset(CODES)


# Cached per process: records of all shards share these bytes.


@functools.lru_cache(1 << 16)
def _before_mel(frames: int, language: str, mel_dtype: str, row_bytes: int) -> tuple[bytes, int]:
    """The bytes from the first field to the mel's first byte, and the number of bytes of the mel."""
    mel_bytes = mel_rows(frames, mel_dtype=mel_dtype) * row_bytes
    fields = _entry("frames", encode_varint(frames)) + _entry("language", encode_varint(language_id(language)))
    return fields + field_header("mel", value_bytes=mel_bytes), mel_bytes


@functools.lru_cache(1 << 12)
def _before_text(text_bytes: int) -> bytes:
    return field_header("text", value_bytes=text_bytes)


@functools.lru_cache(1 << 10)
def _before_name(name_bytes: int) -> bytes:
    return field_header("utterance_id", value_bytes=name_bytes)


def _entry(name: str, value: bytes) -> bytes:
    return field_header(name, value_bytes=len(value)) + value


def _before_example(payload_bytes: int) -> bytes:
    """The frame's header, then tag and length of the only field of an Example."""
    for length_bytes in (3, 2, 4, 1, 5):  # most records take 16 KiB to 2 MiB
        length = encode_varint(max(payload_bytes - 1 - length_bytes, 0))
        if len(length) == length_bytes:
            break
    return record_header(payload_bytes) + b"\x0a" + length


@functools.lru_cache(1 << 14)
def _tokens_opening(entry_bytes: int) -> bytes | None:
    """The bytes before the tokens in a map entry of `entry_bytes` bytes; None if no entry has that size."""
    for opening_bytes in range(14, 34):
        found = field_header("tokens", value_bytes=max(entry_bytes - opening_bytes, 0))
        if len(found) == opening_bytes <= entry_bytes:
            return found
    return None
