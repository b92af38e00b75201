"""Scores that other software measured, in tables: an utterance is taken where its score is within bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from preprocess.corpora.columns import ScoreBounds
from preprocess.corpora.rows import TableRow, cell_text, read_rows
from preprocess.corpora.source import shown
from preprocess.utterance import Reason, Rejected
from shared.errors import UserError


class Scores(NamedTuple):
    """The scores of one table, and their bounds."""

    name: str
    bounds: ScoreBounds
    by_id: Mapping[str, float]  # NaN where the table has no number

    def refusal(self, utterance_id: str, *, source: str) -> str:
        """Why an utterance is not taken; empty if it is.

        Args:
            source: the name of the source, with which the ids of the table may begin.
        """
        score = self.by_id.get(utterance_id, self.by_id.get(utterance_id.removeprefix(f"{source}/"), math.nan))
        low, high = self.bounds.min, self.bounds.max
        if math.isnan(score):
            return f"no {self.name} in {self.bounds.file}"
        if low is not None and score < low:
            return f"{self.name} {score:g} is below {low:g}"
        if high is not None and score > high:
            return f"{self.name} {score:g} is above {high:g}"
        return ""


def read_scores(name: str, bounds: ScoreBounds) -> Scores:
    """Read one column of a table.

    Args:
        name: under which the bounds stand in the config.

    Raises:
        UserError: the table cannot be read, a column is missing, a score is not a number, or an utterance has two rows.
    """
    column, by_id = bounds.column or name, dict[str, float]()
    for row in read_rows(bounds.file, required=[bounds.id, column]):
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
        Rejected: the row cannot be read, has no id, or its score is not a number.
    """
    if isinstance(row.cells, Rejected):
        raise row.cells
    return cell_text(row.cells, id_).strip(), _number(row.cells.get(column), column=column)


def _number(cell: Any, *, column: str) -> float:
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return math.nan
    try:
        if isinstance(cell, bool) or "_" in str(cell):
            raise ValueError
        return float(cell)
    except (TypeError, ValueError, OverflowError) as error:
        message = f"its {column} is {shown(str(cell))}; expected a number, or nothing"
        raise Rejected(Reason.BAD_METADATA_ROW, message) from error
