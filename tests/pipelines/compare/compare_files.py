"""Two datasets that differ, row by row, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

HOSTILE = "The <script>alert(1)</script> kettle & co."


def rows_of(data: Path) -> dict[str, dict[str, Any]]:
    """Every utterance with its status; no id occurs twice in these datasets."""
    found = {}
    for path in sorted((data / "manifest").iterdir()):
        found |= {
            row["utterance_id"]: row | {"status": "kept", "reason": ""} for row in pq.read_table(path).to_pylist()
        }
    for path in sorted((data / "withheld").glob("*.parquet")):
        reasons = {row["utterance_id"]: row for row in pq.read_table(data / "rejected" / path.name).to_pylist()}
        for row in pq.read_table(path).to_pylist():
            reason = reasons[row["utterance_id"]]["reason"]
            found[row["utterance_id"]] = row | {"status": "filtered", "reason": reason}
    return found


def ids_of(document: dict[str, Any], kind: str) -> set[str]:
    return {row["utterance_id"] for row in document["changes"][kind]}
