"""Reading metadata files line by line: UTF-8 with or without BOM, either line end, bounded line length."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from io import BufferedReader
from pathlib import Path
from typing import NamedTuple

from preprocess.corpora.source import MAX_SHOWN_CHARACTERS, row_rejection
from preprocess.utterance import Reason, Rejected, Rejection, Utterance
from shared.errors import UserError

MAX_LINE_BYTES = 1 << 20


class Line(NamedTuple):
    """One line of a metadata file, without its line end; only the beginning of an overlong line."""

    number: int
    data: bytes
    is_whole: bool = True

    @property
    def beginning(self) -> str:
        """What a message shows of the line."""
        return self.data[: 4 * MAX_SHOWN_CHARACTERS + 4].decode(errors="replace")

    @property
    def text(self) -> str:
        """The decoded line; raises Rejected if it is not UTF-8 or overlong."""
        if not self.is_whole:
            raise Rejected(Reason.BAD_METADATA_ROW, f"a line of {MAX_LINE_BYTES} bytes or more")
        return decode(self.data)


def decode(data: bytes) -> str:
    """Decode UTF-8; raises Rejected if the bytes are not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Rejected(Reason.BAD_METADATA_ROW, f"not UTF-8: {error.reason}") from error


def read_lines(path: Path) -> Iterator[Line]:
    """Yield the lines that are not blank, counted from 1; split at \\n only, because U+2028 and the like are text.

    A file whose name ends in .gz is unpacked as it is read.

    Raises:
        UserError: the file cannot be read.
    """
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            yield from _lines(file)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(f"{path}: cannot read the metadata ({reason})") from error


def _lines(file: gzip.GzipFile | BufferedReader) -> Iterator[Line]:
    number = 0
    while data := file.readline(MAX_LINE_BYTES):
        number += 1
        last = data
        while len(last) == MAX_LINE_BYTES and not last.endswith(b"\n"):  # the rest of an overlong line
            last = file.readline(MAX_LINE_BYTES)
        is_whole = len(data) < MAX_LINE_BYTES
        if number == 1:
            data = data.removeprefix(b"\xef\xbb\xbf")
        data = data.rstrip(b"\r\n")
        if data.strip() or not is_whole:
            yield Line(number, data, is_whole)


def parse_lines(
    path: Path,
    *,
    root: Path,
    name: str,
    language: str,
    parse: Callable[[str], Utterance],
    header: bool = False,
) -> Iterator[Utterance | Rejection]:
    """Yield an utterance for each line of a file, or a rejection for a line that `parse` rejects.

    Args:
        name: of the source.
        language: of the source, for the rejections; empty if it has none.
        parse: makes an utterance of a line, or raises Rejected.
        header: skip the first line.
    """
    lines = read_lines(path)
    if header:
        next(lines, None)
    for line in lines:
        try:
            yield parse(line.text)
        except Rejected as error:
            yield row_rejection(
                path, root=root, name=name, line=line.number, row=line.beginning, language=language, error=error
            )


def split_fields(line: str, separator: str, *layouts: Sequence[str]) -> list[str]:
    """Split a line into its fields.

    Args:
        layouts: lists of field names; the line must have as many fields as one of them.

    Raises:
        Rejected: the number of fields is another one, or the first field is blank.
    """
    fields = line.split(separator)
    if len(fields) not in map(len, layouts):
        rows = " or ".join(separator.join(names) for names in layouts).replace("\t", "<tab>")
        raise Rejected(Reason.BAD_METADATA_ROW, f"{len(fields)} fields, wanted {rows}")
    if not fields[0].strip():
        raise Rejected(Reason.BAD_METADATA_ROW, f"no {layouts[0][0]}")
    return fields


def parse_csv_line(line: str, *, separator: str) -> list[str]:
    """Split a line of CSV into its fields; a line whose quotes are not valid CSV is split at each separator."""
    try:
        (fields,) = csv.reader([line], delimiter=separator, strict=True)
    except (csv.Error, ValueError):
        return line.split(separator)
    return fields


def read_columns(path: Path, *, separator: str, required: Sequence[str], is_quoted: bool = False) -> list[str]:
    """Read the column names in the first line of a file.

    Raises:
        UserError: a required column is missing, or there are several of its name.
    """
    first = next(read_lines(path), Line(1, b""))
    line = first.data.decode(errors="replace")
    columns = parse_csv_line(line, separator=separator) if is_quoted else line.split(separator)
    if twice := [column for column in required if columns.count(column) > 1]:
        raise UserError(f"{path}: {columns.count(twice[0])} columns {twice[0]} in its header; expected one")
    if missing := [column for column in required if column not in columns]:
        found = ", ".join(columns)[:200] or "nothing"
        raise UserError(f"{path}: no column {', '.join(missing)} in its header; it has {found}")
    return columns


def cells_by_column(fields: Sequence[str], columns: Sequence[str], *, required: Sequence[str]) -> dict[str, str]:
    """Map a row's fields to their columns.

    Raises:
        Rejected: a required cell is blank or absent, or the row has more fields than columns.
    """
    cells = dict(zip(columns, fields, strict=False))
    if absent := [column for column in required if not cells.get(column, "").strip()]:
        raise Rejected(Reason.BAD_METADATA_ROW, f"{len(fields)} of {len(columns)} fields, no {', '.join(absent)}")
    if len(fields) > len(columns):
        raise Rejected(Reason.BAD_METADATA_ROW, f"{len(fields)} fields, but {len(columns)} columns")
    return cells
