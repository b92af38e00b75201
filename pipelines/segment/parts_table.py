"""The table of parts: a row for each part, with a text that is filled in later. Rows are added, and none is changed."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path

from shared.errors import UserError

COLUMNS = ("audio", "start", "end", "text")


class PartsTable:
    """A CSV file with COLUMNS, and others that its owner added.

    Args:
        path: of the file; a new one is made.
        root: the folder to which the paths of the recordings are relative.

    Raises:
        UserError: the file cannot be read or written, or has other columns.
    """

    def __init__(self, path: Path, *, root: Path):
        self.path, self._root = path, root
        if path.suffix != ".csv":
            raise UserError(f"{path}: the table is CSV; expected a name that ends in .csv")
        try:
            text = path.read_text(encoding="utf-8-sig") if path.exists() else ""
            rows = csv.DictReader(io.StringIO(text))
            self.recordings = {str(row.get("audio")) for row in rows}
            self._columns = list(rows.fieldnames or COLUMNS)
            with path.open("a", encoding="utf-8", newline="") as file:
                file.write("\n" if text and not text.endswith("\n") else "")
                if not text:
                    csv.writer(file, lineterminator="\n").writerow(COLUMNS)
        except OSError as error:
            raise UserError(f"{path}: cannot be written ({error.strerror})") from error
        except (UnicodeDecodeError, csv.Error) as error:
            raise UserError(f"{path}: no CSV in UTF-8; give another --out, or remove the file") from error
        if missing := [name for name in COLUMNS if name not in self._columns]:
            raise UserError(
                f"{path}: no column {', '.join(missing)}; expected a table that this command wrote, or none"
            )

    def name_of(self, recording: Path) -> str:
        """The path of a recording as the table has it."""
        return recording.relative_to(self._root).as_posix()

    def add(self, recording: Path, *, parts: Sequence[tuple[float, float]]) -> None:
        """Add the parts of a recording, pairs of seconds; all of them, or none where the disk is full."""
        text = io.StringIO()
        writer = csv.DictWriter(text, self._columns, restval="", lineterminator="\n")
        for start_s, end_s in parts:
            writer.writerow({"audio": self.name_of(recording), "start": f"{start_s:.3f}", "end": f"{end_s:.3f}"})
        rest, before = memoryview(text.getvalue().encode()), self.path.stat().st_size
        with self.path.open("ab", buffering=0) as file:  # nothing is left in a buffer where a write fails
            try:
                while rest:
                    rest = rest[file.write(rest) :]
            except OSError:
                os.truncate(self.path, before)
                raise
