"""Settings that name columns of tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

import pydantic

from shared.config import Config

# The name of a column, or without a header its number.
Column = Annotated[str, pydantic.BeforeValidator(lambda value: str(value) if type(value) is int else value)]


class ScoreBounds(Config):
    """A table with a score of each utterance, and the bounds of the utterances that are taken; all, without a bound."""

    # .parquet, .jsonl or .ndjson; other names are those of CSV with a header, .tsv of tabs; text also as .gz
    file: Path
    id: str = "utterance_id"  # column of the ids, with or without the source's name before them
    column: str | None = None  # column of the scores; null: the name under which the bounds stand
    min: float | None = None  # lowest score that is taken
    max: float | None = None  # highest score that is taken

    @pydantic.model_validator(mode="after")
    def _check_bounds(self) -> Self:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min} is larger than max {self.max}")
        return self
