"""The files of a run that reports are made of: metrics, incidents, summary, settings."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from shared.errors import UserError

VOCODER_RUN_FILE = "vocoder_run.json"  # the settings of a vocoder's training

Row = dict[str, Any]


class RunFiles(NamedTuple):
    """What the files of a run hold; a file that is absent or damaged is empty here."""

    root: Path
    rows: list[Row]  # of metrics.jsonl
    incidents: list[Row]  # of incidents.jsonl
    summary: dict[str, Any]  # summary.json, of the last session
    description: dict[str, Any]  # run.json: config, contract, vocabulary; of a vocoder, the config alone
    evaluation: dict[str, Any]  # evaluation.json, by `myxtts-train evaluate`
    learn_check: dict[str, Any]  # learn_check.json, by `make learn-check`

    @property
    def name(self) -> str:
        return self.root.absolute().name

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting of the run by its dotted key."""
        return flatten(self.description.get("config") or {})

    def last(self, kind: str) -> Row:
        """The last row of a kind, or an empty one."""
        return next((row for row in reversed(self.rows) if row.get("kind") == kind), {})

    @property
    def best_validation(self) -> Row:
        """The validation row with the lowest loss, or an empty one."""
        return self._lowest("loss")

    @property
    def best_by(self) -> str:
        """The measure that chooses the best checkpoint: `loss`, or one of the synthesized clips."""
        return str(self.settings.get("synthesis_eval.best_by") or "loss")

    @property
    def best_step(self) -> int | None:
        """The step with the lowest value of `best_by` in all sessions."""
        return self._lowest("loss" if self.best_by == "loss" else f"free_{self.best_by}").get("step")

    def _lowest(self, key: str) -> Row:
        rows = [row for row in self.rows if row.get("kind") == "validation" and is_number(row.get(key))]
        return min(rows, key=lambda row: row[key], default={})


def read_run_files(root: Path) -> RunFiles:
    """Read the files of a run.

    Raises:
        UserError: the folder holds no run.
    """
    if not any((root / name).is_file() for name in ("run.json", "metrics.jsonl", "summary.json")):
        raise UserError(f"{root}: no run here; expected a folder that `make train RUN={root}` wrote")
    summary, evaluation, learn_check = (
        _document(root / f"{name}.json") for name in ("summary", "evaluation", "learn_check")
    )
    return RunFiles(
        root,
        rows=_rows(root / "metrics.jsonl"),
        incidents=_rows(root / "incidents.jsonl"),
        summary=summary,
        description=_document(root / "run.json") or {"config": _document(root / VOCODER_RUN_FILE)},
        evaluation=evaluation,
        learn_check=learn_check,
    )


def flatten(document: dict[str, Any], *, prefix: str = "") -> dict[str, Any]:
    """The leaves of nested dictionaries by their dotted keys."""
    leaves: dict[str, Any] = {}
    for key, value in document.items():
        if isinstance(value, dict):
            leaves |= flatten(value, prefix=f"{prefix}{key}.")
        else:
            leaves[f"{prefix}{key}"] = value
    return leaves


def is_number(value: Any) -> TypeGuard[float]:
    """True for a finite number."""
    return isinstance(value, int | float) and math.isfinite(value)


def _rows(path: Path) -> list[Row]:
    """The rows of a file; damaged rows are left out, for the logger reports them when the run goes on."""
    rows = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and isinstance(row.get("step"), int):
            rows.append(row)
    return rows


def _document(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}
