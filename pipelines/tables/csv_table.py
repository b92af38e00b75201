"""A CSV table to which rows are added. No row is changed, and columns that its owner added stay empty."""

from __future__ import annotations

import codecs
import csv
import fcntl
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

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
        if path.suffix != ".csv":
            raise UserError(f"{path}: the table is CSV; expected a name that ends in .csv")
        try:
            self._file = path.open("ab", buffering=0)  # nothing is left in a buffer where a write fails
            flock_file(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with path.open(encoding="utf-8-sig", newline="") as file:
                rows = csv.DictReader(file)
                header = list(rows.fieldnames or [])
                self.keys = {str(row.get(key)) for row in rows}
            self._columns = header or list(columns)
            content = path.read_bytes()
            is_new = not content.removeprefix(codecs.BOM_UTF8).strip()
            if missing := [name for name in columns if name not in header and not is_new]:
                raise UserError(
                    f"{path}: no column {', '.join(missing)}; expected a table that this command wrote, or none"
                )
            if is_new:
                self._file.truncate(0)
                self._append(_lines([self._columns]))
            elif not content.endswith(b"\n"):
                self._append(b"\n")
        except BlockingIOError as error:
            raise UserError(f"{path}: another process writes this table; wait for its end") from error
        except OSError as error:
            raise UserError(f"{path}: cannot be written ({error.strerror})") from error
        except (UnicodeDecodeError, csv.Error) as error:
            raise UserError(f"{path}: no CSV in UTF-8; give another --out, or remove the file") from error

    def add(self, rows: Sequence[Mapping[str, str]]) -> None:
        """Add rows: all of them, or none where the disk is full."""
        self._append(_lines([row.get(name, "") for name in self._columns] for row in rows))

    def _append(self, content: bytes) -> None:
        rest, before = memoryview(content), os.fstat(self._file.fileno()).st_size
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
