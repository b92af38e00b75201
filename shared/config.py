"""YAML into a frozen, typed value; `key=value` words on the command line override it."""

from __future__ import annotations

import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import pydantic
import yaml

from shared.errors import UserError

MAX_CONFIG_BYTES = 1 << 20


class Config(pydantic.BaseModel):
    """Base of every section: frozen, and an unknown key is an error."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")


C = TypeVar("C", bound=Config)


def load_config(path: Path | str, *, of: type[C], overrides: Sequence[str] = ()) -> C:
    """The config in a YAML file, with `section.key=value` overrides (values are YAML).

    Raises:
        UserError: unreadable, not YAML, an unknown key, a value of the wrong kind.
    """
    document = _read_yaml(Path(path))
    for override in overrides:
        _override(document, override)
    try:
        return of.model_validate(document)
    except pydantic.ValidationError as error:
        raise UserError(f"{path}: {_first_problem(error, of=of)}") from error


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > MAX_CONFIG_BYTES:
            raise UserError(f"{path}: over {MAX_CONFIG_BYTES} bytes, which no config needs")
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot read the config ({error.strerror}); see configs/ for examples") from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(document, dict):
        raise UserError(f"{path}: wanted `key: value` lines; see configs/ for examples")
    return document


def _override(document: dict[str, Any], override: str) -> None:
    name, equals, value = override.partition("=")
    if not equals or not name:
        raise UserError(f"{override!r}: wanted key=value, such as sources.ljspeech.root=/data/LJSpeech-1.1")
    *sections, last = name.split(".")
    for section in sections:
        inner = document.setdefault(section, {})
        if not isinstance(inner, dict):
            raise UserError(f"{override!r}: {section!r} is a value, not a section")
        document = inner
    try:
        document[last] = yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise UserError(f"{override!r}: the value is not YAML: {' '.join(str(error).split())}") from error


def _first_problem(error: pydantic.ValidationError, *, of: type[Config]) -> str:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"]) or "the config"
    if first["type"] == "extra_forbidden":
        known = ", ".join(_fields_at(of, first["loc"][:-1]))
        return f"{where}: unknown key; known here: {known}"
    if first["type"] == "missing":
        return f"{where}: missing; give it in the file or as {where}=…"
    message = first["msg"].removeprefix("Value error, ")
    return f"{where}: {message[:1].lower()}{message[1:]}, not {first['input']!r}"


def _fields_at(model: Any, location: Sequence[str | int]) -> list[str]:
    """The field names of the section at a location such as ("sources", "ljspeech")."""
    for part in location:
        if typing.get_origin(model) is dict:
            model = typing.get_args(model)[1]
        else:
            model = _section_type(model.model_fields[str(part)].annotation)
    return sorted(model.model_fields)


def _section_type(annotation: Any) -> Any:
    """The section in `Section | None`."""
    inner = [kind for kind in typing.get_args(annotation) if kind is not type(None)]
    return annotation if typing.get_origin(annotation) is dict or not inner else inner[0]
