"""Columns of a corpus' metadata that a dataset keeps in its manifests, such as gender or emotion."""

from __future__ import annotations

import decimal
import json
import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Self

import pydantic

from preprocess.corpora.columns import Column
from preprocess.corpora.source import SourceConfig, has_surrogate
from preprocess.utterance import Reason, Rejected, Rejection, Utterance
from shared.errors import UserError

MAX_CUSTOM_CHARACTERS = 4000  # of the values of one utterance, as JSON


def _checked_names(names: tuple[str, ...]) -> tuple[str, ...]:
    for place, name in enumerate(names):
        if name in names[:place]:
            raise ValueError(f"{name!r} stands twice; expected each column once")
        if has_surrogate(name):
            raise ValueError(f"{name!r} has half of a surrogate pair; expected text")
    return names


class CustomColumnsConfig(SourceConfig):
    """Settings of a source whose metadata can have columns that the reader itself does not need."""

    # custom columns: further columns of the metadata (keys, where it is JSON) that the manifests keep, such as
    # [gender, emotion]; their values are text, numbers, true, false or nothing, together at most 4,000 characters
    custom_columns: Annotated[tuple[Column, ...], pydantic.AfterValidator(_checked_names)] = ()

    @pydantic.model_validator(mode="after")
    def _check_scores(self) -> Self:
        if both := sorted(self.scores.keys() & set(self.custom_columns)):
            raise ValueError(f"{both[0]!r} is among scores and custom_columns; expected two names")
        return self

    def custom_json(self, cells: Mapping[str, Any]) -> str:
        """The values of the custom columns in one row, as a JSON object: column -> text, number, true, false or null.

        An empty cell and NaN are null. A column that the row does not have is left out.

        Raises:
            Rejected: a value is of another kind, infinite, or no valid Unicode; or all together are too long.
        """
        values = {column: _checked(cells[column], column=column) for column in self.custom_columns if column in cells}
        document = custom_document(values)
        if len(document) > MAX_CUSTOM_CHARACTERS:
            message = f"its custom columns have {len(document)} characters, at most {MAX_CUSTOM_CHARACTERS}"
            raise Rejected(Reason.BAD_METADATA_ROW, message)
        return document


def custom_document(values: Mapping[str, str | int | float | bool | None]) -> str:
    """The custom columns of an utterance as its manifest has them: a JSON object in the order of the names."""
    return json.dumps(values, ensure_ascii=False, sort_keys=True)


def _checked(value: Any, *, column: str) -> str | int | float | bool | None:
    """A value as JSON can hold it; raises Rejected if it is of another kind, infinite, or no valid Unicode."""
    if value is None or value == "" or value != value:  # NaN
        return None
    if isinstance(value, decimal.Decimal):
        value = float(value)
    if not isinstance(value, str | int | float):
        kind = type(value).__name__
        raise Rejected(Reason.BAD_METADATA_ROW, f"{column!r} is a {kind}, expected text, a number, true or false")
    if isinstance(value, float) and math.isinf(value):
        raise Rejected(Reason.BAD_METADATA_ROW, f"{column!r} is {value}, expected a finite number")
    if isinstance(value, str) and has_surrogate(value):
        raise Rejected(Reason.BAD_METADATA_ROW, f"half of a surrogate pair in {column!r}")
    return value


def check_custom_columns(
    elements: Iterator[Utterance | Rejection], *, source: CustomColumnsConfig, name: str
) -> Iterator[Utterance | Rejection]:
    """Yield the elements; raise UserError at their end if no utterance has one of the custom columns.

    Args:
        name: of the source.
    """
    missing, has_utterances = set(source.custom_columns), False
    for element in elements:
        if missing and isinstance(element, Utterance):
            missing -= json.loads(element.custom).keys()
            has_utterances = True
        yield element
    if missing and has_utterances:
        raise UserError(
            f"sources.{name}.custom_columns: no utterance of the corpus has {', '.join(sorted(missing))}; "
            "expected names of columns of its metadata, or keys of its JSON"
        )
