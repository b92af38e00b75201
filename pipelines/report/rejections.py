"""Rejected utterances by reason, with examples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pipelines.tables.columns import DatasetRows
from preprocess.utterance import EXCLUDED_BY_CONFIG, FILTER_STAGE

EXAMPLES = 5


class Example(NamedTuple):
    id: str
    audio_path: str
    message: str


class ReasonTotals(NamedTuple):
    """The utterances that were rejected for one reason."""

    reason: str
    filtered: bool  # a record exists, which a threshold keeps out of training
    utterances: int
    examples: list[Example]

    @property
    def is_error(self) -> bool:
        """False for utterances that the limits of the config exclude."""
        return self.reason not in EXCLUDED_BY_CONFIG


def rejection_totals(rejected: DatasetRows) -> list[ReasonTotals]:
    """One row per reason, the most frequent first."""
    totals = [
        ReasonTotals(reason, filtered, len(rows), list(_examples(rejected, rows)))
        for (reason, filtered), rows in rows_by_reason(rejected).items()
    ]
    return sorted(totals, key=lambda row: (-row.utterances, row.reason))


def rows_by_reason(rejected: DatasetRows) -> dict[tuple[str, bool], np.ndarray]:
    """Row numbers by (reason, whether a record exists)."""
    reasons, names = rejected.codes("reason")
    stages, stage_names = rejected.codes("stage")
    filtered = stages == (stage_names.index(FILTER_STAGE) if FILTER_STAGE in stage_names else -1)
    found = {
        (name, has_record): np.flatnonzero((reasons == number) & (filtered == has_record))
        for number, name in enumerate(names)
        for has_record in (False, True)
    }
    return {key: rows for key, rows in found.items() if len(rows)}


def filtered_by_reason(rejected: DatasetRows) -> dict[str, np.ndarray]:
    """Row numbers of the filtered manifest by reason.

    The filtered manifest holds the rejected utterances that have a record, in the order of the rejected table.
    """
    found = {reason: rows for (reason, has_record), rows in rows_by_reason(rejected).items() if has_record}
    every = np.sort(np.concatenate([*found.values(), np.zeros(0, np.int64)]))
    return {reason: np.searchsorted(every, rows) for reason, rows in found.items()}


def _examples(rejected: DatasetRows, rows: np.ndarray) -> Iterator[Example]:
    """A few of the rows, evenly spaced."""
    chosen = np.unique(np.linspace(0, len(rows) - 1, min(EXAMPLES, len(rows))).round().astype(int))
    for row in rows[chosen].tolist():
        whole = rejected.full_row(row)
        yield Example(whole["utterance_id"], whole["audio_path"], whole["message"])
