"""The table of parts: a row for each part, with a text that is filled in later. Rows are added, and none is changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipelines.tables.csv_table import CsvTable

COLUMNS = ("audio", "start", "end", "text")


class PartsTable:
    """A CSV file with COLUMNS, and others that its owner added.

    Args:
        path: of the file; a new one is made.
        root: the folder to which the paths of the recordings are relative.

    Raises:
        UserError: the file cannot be read or written, or has other columns, or another process adds rows to it.
    """

    def __init__(self, path: Path, *, root: Path):
        self._table, self._root = CsvTable(path, columns=COLUMNS, key="audio"), root

    def has(self, recording: Path) -> bool:
        """Whether the table has parts of a recording."""
        return self._name_of(recording) in self._table.keys

    def add(self, recording: Path, *, parts: Sequence[tuple[float, float]]) -> None:
        """Add the parts of a recording, pairs of seconds; all of them, or none where the disk is full."""
        name = self._name_of(recording)
        self._table.add([{"audio": name, "start": f"{start:.3f}", "end": f"{end:.3f}"} for start, end in parts])

    def _name_of(self, recording: Path) -> str:
        """The path of a recording as the table has it."""
        return recording.relative_to(self._root).as_posix()
