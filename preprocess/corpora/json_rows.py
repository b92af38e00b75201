"""JSON objects of metadata, checked against what a reader needs of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pydantic

from preprocess.corpora.metadata import read_lines
from preprocess.corpora.source import row_rejection
from preprocess.utterance import Reason, Rejected, Rejection, Utterance

Model = TypeVar("Model", bound=pydantic.BaseModel)


def json_object(text: str) -> dict[str, Any]:
    """The JSON object that a text is; raises Rejected if it is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Rejected(Reason.BAD_METADATA_ROW, f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise Rejected(Reason.BAD_METADATA_ROW, f"wanted a JSON object, not a {type(value).__name__}")
    return value


def parsed(model: type[Model], values: Mapping[str, Any]) -> Model:
    """The values that a model has; others are ignored.

    Raises:
        Rejected: a value is missing, or of another type.
    """
    try:
        return model.model_validate(values)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise Rejected(Reason.BAD_METADATA_ROW, f"{place}: {first['msg']}") from error


def read_rows(
    path: Path,
    *,
    root: Path,
    name: str,
    language: str,
    parse: Callable[[Mapping[str, Any]], Iterable[Utterance | Rejected]],
) -> Iterator[Utterance | Rejection]:
    """Yield the utterances of each line, a JSON object, and a rejection of what `parse` rejects.

    Args:
        name: of the source.
        language: of the source, for the rejections; empty if it has none.
        parse: yields the utterances of a row, and Rejected in the place of one; or raises it, for all of the row.

    Raises:
        UserError: the file cannot be read.
    """
    for line in read_lines(path):
        try:
            found = [*parse(json_object(line.text))]
        except Rejected as error:
            found = [error]
        for one in found:
            if isinstance(one, Rejected):
                yield row_rejection(
                    path, root=root, name=name, line=line.number, row=line.beginning, language=language, error=one
                )
            else:
                yield one
