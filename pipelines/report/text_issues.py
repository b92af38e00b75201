"""Problems of the texts: characters without a token, numbers in digits, repeated texts, and duplicate recordings."""

from __future__ import annotations

import collections
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.report.totals import total
from pipelines.tables.columns import DatasetRows

SHOWN_CHARACTERS = 40


class Character(NamedTuple):
    """A character that the tokenizer has no token for."""

    text: str
    records: int  # kept and filtered records that contain it

    @property
    def code_point(self) -> int:
        return ord(self.text)

    @property
    def name(self) -> str:
        return unicodedata.name(self.text, "without a name")


class TextIssues(NamedTuple):
    """Problems of the texts of one language."""

    code: str
    tokens: int
    unknown_tokens: int
    unknown_records: int
    filtered_tokens: int
    characters: list[Character]
    other_characters: int
    unread_numbers: int
    unread_records: int

    @property
    def unknown_fraction(self) -> float:
        return self.unknown_tokens / max(self.tokens, 1)


class RepetitionTotals(NamedTuple):
    """Texts and recordings that occur more than once."""

    repeats: int  # kept records with a text that the same speaker has said before
    most_repeats: int
    leaks: int  # training records with the text of a validation record
    is_compared: bool  # whether the build looked for copies
    copies: int  # kept records that are closer to an earlier recording than the threshold
    filtered_copies: int


def text_issues(kept: DatasetRows, *, filtered: DatasetRows) -> list[TextIssues]:
    """One row per language, the one with most unknown tokens first."""
    rows = [_language(code, kept=one, filtered=other) for code, one, other in _by_language(kept.table, filtered.table)]
    return sorted(rows, key=lambda row: (-row.unknown_fraction, -row.filtered_tokens, row.code))


def _by_language(*tables: pa.Table) -> Iterator[tuple]:
    codes = sorted({code for table in tables for code in pc.unique(table["language"]).to_pylist()})
    for code in codes:
        yield code, *(table.filter(pc.equal(table["language"], code)) for table in tables)


def _language(code: str, *, kept: pa.Table, filtered: pa.Table) -> TextIssues:
    characters = _characters(pa.concat_tables([kept, filtered]))
    return TextIssues(
        code=code,
        tokens=int(total(kept["tokens"])),
        unknown_tokens=int(total(kept["unknown_tokens"])),
        unknown_records=_positive(kept["unknown_tokens"]),
        filtered_tokens=int(total(filtered["unknown_tokens"])),
        characters=characters[:SHOWN_CHARACTERS],
        other_characters=len(characters[SHOWN_CHARACTERS:]),
        unread_numbers=int(total(kept["unread_numbers"])),
        unread_records=_positive(kept["unread_numbers"]),
    )


def _characters(table: pa.Table) -> list[Character]:
    """The unknown characters, the most frequent first."""
    counted = pc.value_counts(table["unknown_characters"])
    records: collections.Counter[str] = collections.Counter()
    for text, count in zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True):
        records.update(dict.fromkeys(text, count))
    return [Character(text, count) for text, count in sorted(records.items(), key=lambda pair: (-pair[1], pair[0]))]


def _positive(column: pa.ChunkedArray) -> int:
    return int(total(pc.greater(column, 0)))


def repetition_totals(kept: DatasetRows, *, filtered: DatasetRows, copy_bits: int) -> RepetitionTotals:
    """Count repeated texts, leaks and duplicates; recordings that differ in fewer than `copy_bits` are duplicates."""
    repeats = kept.numbers("text_repeats")
    return RepetitionTotals(
        repeats=int(np.count_nonzero(repeats)),
        most_repeats=int(repeats.max(initial=0)),
        leaks=int(total(kept.table["text_leaks"])),
        is_compared=copy_bits > 0,
        copies=int(np.count_nonzero(kept.numbers("duplicate_bits") < copy_bits)),
        filtered_copies=int(np.count_nonzero(filtered.numbers("duplicate_bits") < copy_bits)),
    )
