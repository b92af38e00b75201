"""The config reference: every key of a config with its meaning, unit, default and range, from the pydantic models."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pydantic
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from docs.generator.comments import field_comments

# by the last word of a key's name, longest first
UNITS_BY_SUFFIX = {
    "_per_second_deviations": "standard deviations",
    "_duration_s": "s",
    "_s": "s",
    "_db": "dB",
    "_hz": "Hz",
    "_lufs": "LUFS",
    "_bytes": "bytes",
    "_bits": "bits",
    "_fraction": "fraction",
    "_steps": "steps",
    "_every": "steps",
    "_frames": "frames",
    "_clips": "clips",
    "_tokens": "tokens",
    "_hours": "hours",
    "_hours_per_speaker": "hours",
    "_utterances": "utterances",
    "_checkpoints": "checkpoints",
    "_batches": "batches",
    "_records": "records",
}
UNITS = {
    "log_every": "steps",
    "batch_size": "segments",
    "validate_every": "steps",
    "checkpoint_every": "steps",
    "steps": "steps",
    "steps_per_loop": "steps",
    "synthesis_eval.every": "validations",
    "plateau.patience": "validations",
    "plateau.cooldown": "validations",
    "clips": "clips",
    "utterances_per_shard": "utterances",
    "global_frames_per_batch": "frames",
    "frames_per_step": "frames",
    "workers": "processes",
    "input.costs.step_s_per_1000_frames": "s per 1,000 frames",
    "processing.max_peak": "full scale",
    "checks.max_peak": "full scale",
    "checks.max_dc_offset": "full scale",
}


class Setting(NamedTuple):
    """One row of the reference."""

    key: str
    meaning: str
    unit: str
    default: str
    range: str


class Section(NamedTuple):
    """A section of a config: a heading, a sentence and its keys."""

    key: str  # "" for the top level
    title: str
    about: str
    settings: list[Setting]


def sections(
    model: type[pydantic.BaseModel],
    *,
    key: str = "",
    title: str = "Top level",
    kind_of: str = "",
    without: type | None = None,
) -> Iterator[Section]:
    """The section of a model, then those nested in it.

    Args:
        model: the class of the section.
        key: its place in the config.
        title: its heading.
        kind_of: what the headings of nested sections add, where the section is one of several kinds.
        without: a base class whose fields are left out.
    """
    prefix = f"{key}." if key else ""
    inherited = getattr(without, "model_fields", {})
    fields = {name: field for name, field in model.model_fields.items() if name not in inherited}
    nested = {name: _models(field.annotation) for name, field in fields.items()}
    settings = [
        _setting(model, name, field, key=f"{prefix}{name}") for name, field in fields.items() if not nested[name]
    ]
    yield Section(key, title, _first_line(model), settings)
    for name, kinds in nested.items():
        is_mapping = typing.get_origin(fields[name].annotation) is dict
        inner = f"{prefix}{name}" + (".NAME" if is_mapping else "")
        base = _common_base(kinds)
        if base is not None:
            yield from sections(base, key=inner, title=f"`{inner}`{kind_of}", kind_of=kind_of)
        for kind in kinds:
            tag = _tag(kind) if len(kinds) > 1 else None
            added = kind_of + (f", `{tag[0]}: {tag[1]}`" if tag else "")
            yield from sections(kind, key=inner, title=f"`{inner}`{added}", kind_of=added, without=base)


def _common_base(kinds: list[type[pydantic.BaseModel]]) -> type[pydantic.BaseModel] | None:
    """The class with settings of its own that all kinds of a section extend."""
    for base in kinds[0].__mro__[1:] if len(kinds) > 1 else ():
        if all(issubclass(kind, base) for kind in kinds):
            return base if getattr(base, "model_fields", {}) else None
    return None


def reference(model: type[pydantic.BaseModel]) -> str:
    """The whole reference as Markdown."""
    return "\n\n".join(_markdown(section) for section in sections(model) if section.settings)


def _markdown(section: Section) -> str:
    rows = [
        f"| `{one.key.rpartition('.')[2]}` | {one.meaning} | {one.unit} | {one.default} | {one.range} |"
        for one in section.settings
    ]
    head = ["| key | meaning | unit | default | range |", "|---|---|---|---|---|"]
    return "\n".join([f"## {section.title}", "", section.about, "", *head, *rows])


def _setting(model: type[pydantic.BaseModel], name: str, field: FieldInfo, *, key: str) -> Setting:
    return Setting(key, meaning_of(model, name), _unit(key, field), _default(field), _range(field))


def meaning_of(model: type[pydantic.BaseModel], name: str) -> str:
    """The field's description, else its comment in the source of the class that declares it, as a table cell."""
    meaning = model.model_fields[name].description
    tag = _tag(model)
    if tag and tag[0] == name:
        meaning = "selects this kind of section"
    for owner in model.__mro__:
        if meaning or not (isinstance(owner, type) and issubclass(owner, pydantic.BaseModel)):
            break
        meaning = field_comments(owner).get(name)
    text = " ".join((meaning or "").split()).replace("|", "\\|").replace("<", "&lt;")
    return re.sub(
        r"\b(None|True|False)\b", lambda value: _shown({"None": None, "True": True}.get(value[1], False)), text
    )


def _models(annotation: Any) -> list[type[pydantic.BaseModel]]:
    """The models that may stand under a key, through unions, mappings and annotations."""
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        return [annotation]
    arguments = typing.get_args(annotation)
    if typing.get_origin(annotation) is dict:
        arguments = arguments[1:]
    elif typing.get_origin(annotation) is typing.Annotated:
        arguments = arguments[:1]
    elif typing.get_origin(annotation) not in (typing.Union, types.UnionType):
        return []
    return [kind for argument in arguments for kind in _models(argument)]


def _tag(kind: type[pydantic.BaseModel]) -> tuple[str, str] | None:
    """The field and value that select this kind of section."""
    for name, field in kind.model_fields.items():
        if typing.get_origin(field.annotation) is typing.Literal and len(typing.get_args(field.annotation)) == 1:
            return name, typing.get_args(field.annotation)[0]
    return None


def _first_line(model: type[pydantic.BaseModel]) -> str:
    return (model.__doc__ or "").strip().partition("\n\n")[0].replace("\n", " ")


def _unit(key: str, field: FieldInfo) -> str:
    name = key.rpartition(".")[2]
    if key in UNITS or name in UNITS:
        return UNITS.get(key) or UNITS[name]
    if not _is_number(field.annotation):
        return "–"
    suffix = max((end for end in UNITS_BY_SUFFIX if name.endswith(end)), key=len, default=None)
    return UNITS_BY_SUFFIX[suffix] if suffix else "–"


def _is_number(annotation: Any) -> bool:
    return bool({int, float} & {annotation, *typing.get_args(annotation)})


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    if value is PydanticUndefined:
        return "**required**"
    if value == "":
        return "empty"
    return f"`{_shown(value)}`"


def _shown(value: Any) -> str:
    """A value as YAML writes it."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if not isinstance(value, Path) else value.as_posix()


def _range(field: FieldInfo) -> str:
    choices = _choices(field.annotation)
    if choices:
        return ", ".join(f"`{choice}`" for choice in choices)
    bounds = {name: _bound(field, name) for name in ("ge", "gt", "le", "lt", "min_length", "max_length")}
    known = {name: bound for name, bound in bounds.items() if bound is not None}
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<", "min_length": "at least", "max_length": "at most"}
    shown = ", ".join(f"{signs[name]} {_bound_text(bound)}{_of_length(name)}" for name, bound in known.items())
    return shown or _kind(field.annotation)


def _bound_text(bound: float) -> str:
    return f"{bound:g}" if isinstance(bound, float) else f"{bound:,}"


def _of_length(name: str) -> str:
    return " characters" if "length" in name else ""


def _bound(field: FieldInfo, name: str) -> Any:
    return next((getattr(one, name) for one in field.metadata if getattr(one, name, None) is not None), None)


def _choices(annotation: Any) -> list[str]:
    if typing.get_origin(annotation) is typing.Literal:
        return [str(one) for one in typing.get_args(annotation)]
    if typing.get_origin(annotation) in (typing.Union, types.UnionType, typing.Annotated):
        return [choice for one in typing.get_args(annotation) for choice in _choices(one)]
    return ["true", "false"] if annotation is bool else []


def _kind(annotation: Any) -> str:
    """The kind of a value without bounds, in words."""
    names = {str: "text", Path: "path", int: "whole number", float: "number"}
    if annotation in names:
        return names[annotation]
    if typing.get_origin(annotation) is tuple:
        return "list"
    return next((kind for kind in map(_kind, typing.get_args(annotation)) if kind != "–"), "–")


def missing_meanings(model: type[pydantic.BaseModel]) -> list[str]:
    """The keys of a config that nothing explains."""
    return [f"{section.title}: {one.key}" for section in sections(model) for one in section.settings if not one.meaning]
