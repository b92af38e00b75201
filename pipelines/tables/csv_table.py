"""A CSV table to which rows are added. No row is changed, and columns that its owner added stay empty."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from shared.errors import UserError


class CsvTable:
    """A CSV file in UTF-8 with a header.

    Args:
        path: of the file; a new one is made.
        columns: that it has, or begins with.
        key: one of these; `keys` are its cells.

    Raises:
        UserError: the file cannot be read or written, or has other columns.
    """

    def __init__(self, path: Path, *, columns: Sequence[str], key: str):
        self.path = path
        if path.suffix != ".csv":
            raise UserError(f"{path}: the table is CSV; expected a name that ends in .csv")
        try:
            text = path.read_text(encoding="utf-8-sig") if path.exists() else ""
            rows = csv.DictReader(io.StringIO(text))
            self.keys = {str(row.get(key)) for row in rows}
            self._columns = list(rows.fieldnames or columns)
            with path.open("a", encoding="utf-8", newline="") as file:
                file.write("\n" if text and not text.endswith("\n") else "")
                if not text:
                    csv.writer(file, lineterminator="\n").writerow(columns)
        except OSError as error:
            raise UserError(f"{path}: cannot be written ({error.strerror})") from error
        except (UnicodeDecodeError, csv.Error) as error:
            raise UserError(f"{path}: no CSV in UTF-8; give another --out, or remove the file") from error
        if missing := [name for name in columns if name not in self._columns]:
            raise UserError(
                f"{path}: no column {', '.join(missing)}; expected a table that this command wrote, or none"
            )

    def add(self, rows: Sequence[Mapping[str, str]]) -> None:
        """Add rows: all of them, or none where the disk is full."""
        text = io.StringIO()
        csv.DictWriter(text, self._columns, restval="", lineterminator="\n").writerows(rows)
        rest, before = memoryview(text.getvalue().encode()), self.path.stat().st_size
        with self.path.open("ab", buffering=0) as file:  # nothing is left in a buffer where a write fails
            try:
                while rest:
                    rest = rest[file.write(rest) :]
            except OSError:
                os.truncate(self.path, before)
                raise
