"""YAML into a frozen, typed value; `key=value` words on the command line override it."""

from __future__ import annotations

import copy
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import pydantic
import yaml

from shared.errors import UserError
from shared.storage_path import StoragePath

MAX_CONFIG_BYTES = 1 << 20


Document = dict[str, Any]


class Config(pydantic.BaseModel):
    """Base of every section: frozen; an unknown key, an infinity or a NaN is an error."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @classmethod
    def overridden(cls, document: Document, *, words: Sequence[str]) -> Document:
        """A file's document with `section.key=value` words laid over it, one after another.

        Raises:
            UserError: a word is none, its value is not YAML, or it leads through a value that is no section.
        """
        changed = copy.deepcopy(document)
        for word in words:
            _override(changed, word)
        return changed


C = TypeVar("C", bound=Config)


def load_config(path: StoragePath | str, *, of: type[C], overrides: Sequence[str] = ()) -> C:
    """The config in a YAML file, with `section.key=value` overrides (values are YAML).

    Raises:
        UserError: unreadable, not YAML, an unknown key, a value of the wrong kind.
    """
    document = of.overridden(_read_yaml(Path(path) if isinstance(path, str) else path), words=overrides)
    try:
        return of.model_validate(document)
    except pydantic.ValidationError as error:
        raise UserError(f"{path}: {_first_problem(error, of=of)}") from error


class _Loader(yaml.SafeLoader):
    """Plain values only, and no key twice: YAML's own loader would drop the first without a word."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {key.value!r} stands twice", problem_mark=key.start_mark)
            seen.add(key.value)
        return node


def _parse(text: str) -> Any:
    """Raises ValueError, in one line, where the text is not YAML."""
    try:
        return yaml.load(text, Loader=_Loader)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date or number that is none, such as 2024-13-45
        raise ValueError(" ".join(str(error).split())) from error


def _read_yaml(path: StoragePath) -> Document:
    try:
        if path.stat().st_size > MAX_CONFIG_BYTES:
            raise UserError(f"{path}: over {MAX_CONFIG_BYTES} bytes, which no config needs")
        document = _parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot read the config ({error.strerror}); see configs/ for examples") from error
    except ValueError as error:
        raise UserError(f"{path}: not YAML: {error}") from error
    if not isinstance(document, dict):
        raise UserError(f"{path}: wanted `key: value` lines; see configs/ for examples")
    return document


def _override(document: Document, override: str) -> None:
    name, equals, value = override.partition("=")
    if not equals or not name:
        raise UserError(f"{override!r}: wanted key=value, such as sources.ljspeech.root=/data/LJSpeech-1.1")
    *sections, last = name.split(".")
    for section in sections:
        if document.get(section) is None:  # also an empty section, which is YAML's null
            document[section] = {}
        inner = document[section]
        if not isinstance(inner, dict):
            raise UserError(f"{override!r}: {section!r} is a value, not a section")
        document = inner
    try:
        document[last] = _parse(value)
    except ValueError as error:
        raise UserError(f"{override!r}: the value is not YAML: {error}") from error


def _first_problem(error: pydantic.ValidationError, *, of: type[Config]) -> str:
    first = error.errors()[0]
    location, kind = _without_tags(of, first["loc"])
    where = ".".join(location) or "the config"
    if first["type"] == "extra_forbidden":
        known = ", ".join(sorted(kind.model_fields))
        return f"{where}: unknown key; known here: {known}"
    if first["type"] == "union_tag_invalid":
        context = first["ctx"]
        tag = f"{where}.{context['discriminator'].strip(chr(39))}"
        return f"{tag}: unknown {context['tag']!r}; known: {context['expected_tags'].replace(chr(39), '')}"
    if first["type"] == "union_tag_not_found":
        where, first["type"] = f"{where}.{first['ctx']['discriminator'].strip(chr(39))}", "missing"
    if first["type"] == "missing":
        return f"{where}: missing; give it in the file or as {where}=…"
    message = first["msg"].removeprefix("Value error, ")
    message = f"{where}: {message[:1].lower()}{message[1:]}"
    return f"{message}, not {_shown(first['input'])}" if location else message  # of all together nothing is shown


def _shown(value: Any) -> str:
    """A value in a message; of a section or a list only its kind, for aliases can make it grow without bound."""
    if isinstance(value, dict | list | set):
        return f"a {type(value).__name__} of {len(value)}"
    shown = repr(value)
    return shown if len(shown) <= 200 else f"{shown[:200]}…"


def _without_tags(model: Any, location: Sequence[str | int]) -> tuple[list[str], Any]:
    """The names on the way to a place in the document, and the innermost section that it lies in.

    Where a section is one of several kinds, told by a field, pydantic puts the kind's name among the others.
    """
    names: list[str] = []
    section = kind = model
    for part in map(str, location):
        kinds = _kinds(kind)
        if part in kinds and part not in getattr(kind, "model_fields", {}):
            kind = section = kinds[part]
            continue
        names.append(part)
        kind = _inner(kind, part)
        section = kind if hasattr(kind, "model_fields") else section
    return names, section


def _kinds(annotation: Any) -> dict[str, Any]:
    """The sections of a union by the literal values that tell them apart."""
    kinds: dict[str, Any] = {}
    for one in typing.get_args(annotation):
        for field in getattr(one, "model_fields", {}).values():
            if typing.get_origin(field.annotation) is typing.Literal:
                kinds |= dict.fromkeys(typing.get_args(field.annotation), one)
    return kinds


def _inner(annotation: Any, part: str) -> Any:
    """What stands under a key of a section or mapping."""
    if typing.get_origin(annotation) is dict:
        inner = typing.get_args(annotation)[1]
        return typing.get_args(inner)[0] if typing.get_origin(inner) is typing.Annotated else inner
    field = getattr(annotation, "model_fields", {}).get(part)
    if field is None:
        return None
    parts = [one for one in typing.get_args(field.annotation) if one is not type(None)]
    is_optional = len(parts) == 1 and hasattr(parts[0], "model_fields")
    return parts[0] if is_optional else field.annotation
