"""The incident log, `RUN/incidents.jsonl`: one row for each failure that a run survived."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from shared.errors import UserError, writing
from shared.files import write_bytes


class IncidentLog:
    """Adds rows to the file; a failure that repeats after a rollback is written once."""

    def __init__(self, run: Path):
        self._path = run / "incidents.jsonl"
        self._rows = self._read_rows()

    def add(self, kind: str, *, step: int, **facts: Any) -> None:
        """Add a row of a kind such as "skipped" or "out of memory".

        Raises:
            UserError: the disk is full or fails.
        """
        row = json.dumps({"step": step, "kind": kind, **facts})
        if row in self._rows:
            return
        self._rows.append(row)
        with writing(self._path, advice="free disk space and run the same command again"):
            write_bytes(self._path, "".join(f"{one}\n" for one in self._rows).encode(errors="surrogateescape"))

    def _read_rows(self) -> list[str]:
        """Return the existing rows; bytes that are not UTF-8 are preserved."""
        try:
            return self._path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UserError(f"{self._path}: cannot be read ({error.strerror})") from error
