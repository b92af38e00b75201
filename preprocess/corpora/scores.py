"""Scores that other software measured, in tables: utterances within the bounds are taken, and keep their scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from preprocess.corpora.columns import ScoreBounds
from preprocess.corpora.rows import TableRow, cell_text, read_table_rows
from preprocess.corpora.source import shown
from preprocess.utterance import Reason, Rejected
from shared.errors import UserError

_PRECISION = 1e-6  # relative: a table may hold float32, in which 3.1 is 3.0999999


class Scores(NamedTuple):
    """The scores of one table, and their bounds."""

    name: str
    bounds: ScoreBounds
    by_id: Mapping[str, float]  # NaN where the table has no number

    def score(self, utterance_id: str, *, source: str) -> float | None:
        """The score of an utterance, NaN where its cell is empty; None if the table has no row of it.

        Args:
            source: the name of the source, with which the ids of the table may begin.
        """
        score = self.by_id.get(utterance_id)
        return self.by_id.get(utterance_id.removeprefix(f"{source}/")) if score is None else score

    def refusal(self, score: float | None) -> str:
        """Why an utterance with this score is not taken; empty if it is."""
        low, high = self.bounds.min, self.bounds.max
        if low is None and high is None:
            return ""
        if score is None or math.isnan(score):
            return f"no {self.name} in {self.bounds.file}"
        if low is not None and score < low and not math.isclose(score, low, rel_tol=_PRECISION):
            return f"{self.name} {score:.6g} is below {low:.6g}"
        if high is not None and score > high and not math.isclose(score, high, rel_tol=_PRECISION):
            return f"{self.name} {score:.6g} is above {high:.6g}"
        return ""


def read_scores(name: str, bounds: ScoreBounds) -> Scores:
    """Read one column of a table.

    Args:
        name: under which the bounds stand in the config.

    Raises:
        UserError: the table cannot be read, a column is missing, a score is not a number, or an utterance has two rows.
    """
    column, by_id = bounds.column or name, dict[str, float]()
    for row in read_table_rows(bounds.file, required=[bounds.id, column]):
        try:
            utterance_id, score = _score(row, id_=bounds.id, column=column)
        except Rejected as error:
            raise UserError(f"{bounds.file}, row {row.number}: {error.message}") from error
        if utterance_id in by_id:
            raise UserError(
                f"{bounds.file}, row {row.number}: a second row of {shown(utterance_id)}; expected one row an utterance"
            )
        by_id[utterance_id] = score
    return Scores(name, bounds, by_id)


def _score(row: TableRow, *, id_: str, column: str) -> tuple[str, float]:
    """The id and the score of a row; NaN for an empty cell.

    Raises:
        Rejected: the row cannot be read, has no id, has not the column, or its score is not a number.
    """
    if isinstance(row.cells, Rejected):
        raise row.cells
    if column not in row.cells:
        raise Rejected(Reason.BAD_METADATA_ROW, f"no {column!r}; expected a number, or nothing")
    return cell_text(row.cells, id_), _number(row.cells[column], column=column)


def _number(cell: Any, *, column: str) -> float:
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return math.nan
    try:
        number = math.inf if isinstance(cell, bool) or "_" in str(cell) else float(cell)
    except (TypeError, ValueError, OverflowError):
        number = math.inf
    if math.isinf(number):
        message = f"its {column} is {shown(str(cell))}; expected a number, or nothing"
        raise Rejected(Reason.BAD_METADATA_ROW, message)
    return number
