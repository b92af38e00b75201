"""What is wrong with the texts: characters without a token, numbers that were not read out, texts that recur."""

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
    """A character that the tokenizer does not know."""

    text: str
    records: int  # in which it stands, kept or withheld

    @property
    def code_point(self) -> int:
        return ord(self.text)

    @property
    def name(self) -> str:
        return unicodedata.name(self.text, "without a name")


class TextIssues(NamedTuple):
    """The texts of one language."""

    code: str
    tokens: int
    unknown_tokens: int
    unknown_records: int
    withheld_tokens: int
    withheld_records: int
    characters: list[Character]
    other_characters: int
    unread_numbers: int
    unread_records: int

    @property
    def unknown_fraction(self) -> float:
        return self.unknown_tokens / max(self.tokens, 1)


class RepetitionTotals(NamedTuple):
    """Texts and recordings that occur more than once."""

    repeats: int  # kept, of a text that the speaker said before
    most_repeats: int
    leaks: int  # training records whose text stands in validation
    copies: int  # kept, though nearer to an earlier recording than the threshold
    withheld_copies: int


def text_issues(kept: DatasetRows, *, withheld: DatasetRows) -> list[TextIssues]:
    """A row for each language, the one with most unknown tokens first."""
    tables = {code: (ours, aside) for code, ours, aside in _by_language(kept.table, withheld.table)}
    facts = [_language(code, kept=ours, withheld=aside) for code, (ours, aside) in tables.items()]
    return sorted(facts, key=lambda row: (-row.unknown_fraction, -row.withheld_tokens, row.code))


def _by_language(*tables: pa.Table) -> Iterator[tuple]:
    codes = sorted({code for table in tables for code in pc.unique(table["language"]).to_pylist()})
    for code in codes:
        yield code, *(table.filter(pc.equal(table["language"], code)) for table in tables)


def _language(code: str, *, kept: pa.Table, withheld: pa.Table) -> TextIssues:
    characters = _characters(pa.concat_tables([kept, withheld]))
    return TextIssues(
        code=code,
        tokens=int(total(kept["tokens"])),
        unknown_tokens=int(total(kept["unknown_tokens"])),
        unknown_records=_positive(kept["unknown_tokens"]),
        withheld_tokens=int(total(withheld["unknown_tokens"])),
        withheld_records=_positive(withheld["unknown_tokens"]),
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


def repetition_totals(kept: DatasetRows, *, withheld: DatasetRows, copy_bits: int) -> RepetitionTotals:
    """Repeats, leaks and copies; two recordings that differ in fewer than `copy_bits` are copies."""
    repeats = kept.numbers("text_repeats")
    return RepetitionTotals(
        repeats=int(np.count_nonzero(repeats)),
        most_repeats=int(repeats.max(initial=0)),
        leaks=int(total(kept.table["text_leaks"])),
        copies=int(np.count_nonzero(kept.numbers("duplicate_bits") < copy_bits)),
        withheld_copies=int(np.count_nonzero(withheld.numbers("duplicate_bits") < copy_bits)),
    )
