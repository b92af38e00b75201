"""A CSV table to which rows are added. No row is changed, and columns that its owner added stay empty."""

from __future__ import annotations

import codecs
import csv
import fcntl
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from io import FileIO
from pathlib import Path
from typing import Literal

from shared.errors import UserError
from shared.files import flock_file


class CsvTable:
    """A CSV file in UTF-8 with a header; one process at a time adds rows.

    Args:
        path: of the file; a new one is made.
        columns: that it has, or begins with.
        key: one of these; `keys` are its cells.

    Raises:
        UserError: the file cannot be read or written, has other columns, or another process adds rows to it.
    """

    def __init__(self, path: Path, *, columns: Sequence[str], key: str):
        self._path, self._required = path, columns
        if path.suffix != ".csv":
            raise UserError(f"{path}: the table is CSV; expected a name that ends in .csv")
        try:
            self._file = self._opened("a+b")
            with path.open(encoding="utf-8-sig", newline="") as file:
                rows = csv.DictReader(file)
                header = list(rows.fieldnames or [])
                self.keys = {str(row.get(key)) for row in rows}
            self._columns = header or list(columns)
            if path.read_bytes().removeprefix(codecs.BOM_UTF8).strip():
                self._check(header)
            else:
                self._file.truncate(0)
                self._append(_lines([self._columns]))
        except OSError as error:
            raise UserError(f"{path}: cannot be written ({error.strerror})") from error
        except (UnicodeDecodeError, csv.Error) as error:
            raise UserError(f"{path}: no CSV in UTF-8; give another --out, or remove the file") from error

    def add(self, rows: Sequence[Mapping[str, str]]) -> None:
        """Add rows: all of them, or none where the disk is full.

        An editor may have put another file in the place of the table; the rows are added to that.

        Raises:
            UserError: the table cannot be written, is gone, or lost a column.
        """
        try:
            if not os.path.samestat(self._path.stat(), os.fstat(self._file.fileno())):
                self._file = self._opened("r+b")
                with self._path.open(encoding="utf-8-sig", newline="") as file:
                    self._columns = next(csv.reader(file), [])
                self._check(self._columns)
            self._append(_lines([row.get(name, "") for name in self._columns] for row in rows))
        except OSError as error:
            reason = f"cannot be written ({error.strerror}); what it has is whole, and the same command continues"
            raise UserError(f"{self._path}: {reason}") from error

    def _check(self, header: Sequence[str]) -> None:
        """Raise UserError if the table has not all of its columns."""
        if missing := [name for name in self._required if name not in header]:
            raise UserError(
                f"{self._path}: no column {', '.join(missing)}; expected a table that this command wrote, or none"
            )

    def _opened(self, mode: Literal["a+b", "r+b"]) -> FileIO:
        """The file, locked, and without a buffer: nothing is left in one where a write fails."""
        file = self._path.open(mode, buffering=0)
        try:
            flock_file(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(f"{self._path}: another process writes this table; wait for its end") from error
        return file

    def _append(self, content: bytes) -> None:
        before = self._file.seek(0, os.SEEK_END)
        if before and os.pread(self._file.fileno(), 1, before - 1) != b"\n":
            content = b"\n" + content
        rest = memoryview(content)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            os.ftruncate(self._file.fileno(), before)
            raise


def _lines(rows: Iterable[Sequence[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()
