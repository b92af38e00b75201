"""Rows of text tables, one by one: CSV, TSV and the like, and JSON lines."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from preprocess.corpora.json_rows import json_object
from preprocess.corpora.metadata import Line, read_columns, read_lines
from preprocess.corpora.source import MAX_SHOWN_CHARACTERS
from preprocess.utterance import Reason, Rejected


class TableRow(NamedTuple):
    """One row of a table: column name -> cell, or why the row could not be read."""

    number: int  # of its line, or of the row in Parquet, from 1
    cells: Mapping[str, Any] | Rejected
    beginning: str = ""  # of its line

    @property
    def text(self) -> str:
        """What a message shows of the row."""
        if isinstance(self.cells, Rejected):
            return self.beginning
        shown = (item for item in self.cells.items() if isinstance(item[1], str | int | float))
        return ", ".join(f"{column}={str(cell)[:MAX_SHOWN_CHARACTERS]}" for column, cell in shown)


def cell_text(cells: Mapping[str, Any], column: str) -> str:
    """A cell as text; whole numbers, such as ids and speakers, are converted.

    Raises:
        Rejected: the cell is absent, or neither text nor a whole number.
    """
    if column not in cells:
        found = ", ".join(cells)[:200] or "none"
        raise Rejected(Reason.BAD_METADATA_ROW, f"no column {column!r}; there are {found}")
    value = cells[column]
    if value is None:
        raise Rejected(Reason.BAD_METADATA_ROW, f"{column!r} is empty")
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise Rejected(Reason.BAD_METADATA_ROW, f"{column!r} is a {type(value).__name__}, expected text")
    return str(value)


def read_table_rows(
    path: Path,
    *,
    required: Sequence[str],
    separator: str | None = None,
    is_quoted: bool | None = None,
    has_header: bool = True,
) -> Iterator[TableRow]:
    """Yield the rows of a table: Parquet, JSON lines or separated text, by the suffix of its name.

    Args:
        required: columns that the table must have.
        separator: of text; None for a tab in .tsv, else a comma.
        is_quoted: whether the fields of text are quoted as in CSV; None where the separator is a comma.
        has_header: whether the first row of text names the columns; otherwise they are `1`, `2`, …

    Raises:
        UserError: the table cannot be read, or a required column is missing.
    """
    suffix = Path(path.name.removesuffix(".gz")).suffix.lower()
    if suffix == ".parquet":
        from preprocess.corpora.parquet_rows import read_parquet  # with pyarrow, which configs load without

        return read_parquet(path, required=required)
    if suffix in (".jsonl", ".ndjson"):
        return read_json_lines(path)
    separator = separator or ("\t" if suffix == ".tsv" else ",")
    is_quoted = separator == "," if is_quoted is None else is_quoted
    return read_separated(path, separator=separator, is_quoted=is_quoted, required=required if has_header else None)


def read_separated(
    path: Path, *, separator: str, is_quoted: bool, required: Sequence[str] | None
) -> Iterator[TableRow]:
    """Yield the rows of a text table.

    Args:
        required: columns that the header must have; None for a table without header, whose columns are `1`, `2`, …

    Raises:
        UserError: a required column is missing.
    """
    lines = read_lines(path)
    columns: list[str] | None = None
    if required is not None:
        columns = read_columns(path, separator=separator, is_quoted=is_quoted, required=required)
        next(lines)
    for line, fields in (_quoted_records if is_quoted else _plain_records)(lines, separator=separator):
        cells = fields if isinstance(fields, Rejected) else _named(fields, columns=columns)
        yield TableRow(line.number, cells, line.beginning if isinstance(cells, Rejected) else "")


def _named(fields: Sequence[str], *, columns: Sequence[str] | None) -> Mapping[str, str] | Rejected:
    if columns is not None and len(fields) > len(columns):
        return Rejected(Reason.BAD_METADATA_ROW, f"{len(fields)} fields, but {len(columns)} columns")
    return dict(zip(columns or map(str, itertools.count(1)), fields, strict=False))


def _plain_records(lines: Iterator[Line], *, separator: str) -> Iterator[tuple[Line, list[str] | Rejected]]:
    for line in lines:
        try:
            yield line, line.text.split(separator)
        except Rejected as error:
            yield line, error


class _LineFeed(Iterator[str]):
    """Feeds lines to the csv module, and remembers those of the current record."""

    def __init__(self, lines: Iterator[Line]):
        self.lines, self.used = lines, list[Line]()

    def __next__(self) -> str:
        line = next(self.lines)
        self.used.append(line)
        return f"{line.text}\n"


def _quoted_records(lines: Iterator[Line], *, separator: str) -> Iterator[tuple[Line, list[str] | Rejected]]:
    """CSV records of RFC 4180, which can have line ends between quotes."""
    feed = _LineFeed(lines)
    records = csv.reader(feed, delimiter=separator, strict=True)
    while True:
        feed.used.clear()
        fields: list[str] | Rejected
        try:
            fields = next(records)
        except StopIteration:
            return
        except Rejected as error:
            fields = error
        except csv.Error as error:  # the next record begins with the next line
            used = f"lines {feed.used[0].number} to {feed.used[-1].number}"
            fields = Rejected(Reason.BAD_METADATA_ROW, f"{used} are no record of CSV: {error}")
        yield feed.used[0], fields


def read_json_lines(path: Path) -> Iterator[TableRow]:
    """Yield the rows of a JSON lines file: one object per line."""
    for line in read_lines(path):
        try:
            yield TableRow(line.number, json_object(line.text))
        except Rejected as error:
            yield TableRow(line.number, error, line.beginning)
