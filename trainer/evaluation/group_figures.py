"""Figures of many spoken clips, from the lines of clips.jsonl."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from trainer.evaluation.eval_clips import Row

Figures = dict[str, Any]


def summarise(rows: Sequence[Row]) -> Figures:
    """The figures of some clips: shares of all words and characters, and means over clips; None: not measured."""
    return {
        "clips": len(rows),
        **{
            f"{prefix}{unit}_error_rate": _ratio(rows, f"{prefix}{unit}_errors", over=f"{unit}s")
            for unit in ("word", "character")
            for prefix in ("", "recording_")
        },
        **{name: _mean(row.get(name) for row in rows) for name in _averaged_names(rows)},
        "duration_error": _mean(abs(row["duration_ratio"] - 1.0) for row in rows),
        "stop_failures_per_1000": 1000 * (_mean(bool(row["stop_failures"]) for row in rows) or 0.0),
        "reported_per_1000": 1000 * (_mean(bool(row["problems"]) for row in rows) or 0.0),
        "real_time_factor": _of_measured(np.median, (row["real_time_factor"] for row in rows)),
    }


def _averaged_names(rows: Sequence[Row]) -> list[str]:
    """The measures whose mean over clips is a figure."""
    similarities = [name for name in rows[0] if "_similarity_" in name]
    return [
        *("duration_ratio", "mel_cepstral_distance_db", "f0_rms_cents", "f0_shift_cents", "voicing_error"),
        *similarities,
    ]


def _ratio(rows: Sequence[Row], name: str, *, over: str) -> float | None:
    heard = [row for row in rows if row[name] is not None]
    return sum(row[name] for row in heard) / sum(row[over] for row in heard) if heard else None


def _mean(values: Iterable[float | None]) -> float | None:
    return _of_measured(np.mean, values)


def _of_measured(statistic: Callable[[list[float]], Any], values: Iterable[float | None]) -> float | None:
    """A statistic of the values that were measured; None: there is none."""
    measured = [value for value in values if value is not None]
    return float(statistic(measured)) if measured else None


def summarise_groups(rows: Sequence[Row]) -> dict[str, dict[str, Figures]]:
    """The figures of all clips, by language and by speaker."""
    groups: dict[str, dict[str, Figures]] = {"all": {"all": summarise(rows)}}
    for key in ("language", "speaker"):
        rows_of: dict[str, list[Row]] = {}
        for row in rows:
            rows_of.setdefault(row[key], []).append(row)
        groups[key] = {name: summarise(rows_of[name]) for name in sorted(rows_of)}
    return groups
