"""The settings of a config class: which sections it has, and which values each key takes, in words."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pydantic
from pydantic.fields import FieldInfo

SEPARATOR = "."  # between section and key


def join_keys(keys: Iterable[Any]) -> str:
    """A path of keys for a message, in one line whatever the keys are."""
    return SEPARATOR.join(map(printable, keys))


def printable(key: Any) -> str:
    """A key for a message, in one line."""
    return str(key) if str(key).isprintable() else repr(key)


class Setting(NamedTuple):
    """A place in a document: the type of its value, and the constraints on that value."""

    annotation: Any
    metadata: Sequence[Any] = ()

    def describe(self) -> str:
        """The accepted values in words: `a whole number from 1 to 64, or null`. Empty if nothing is known."""
        return _describe(self.annotation, self.metadata)

    def inner(self, key: str) -> Setting:
        """The setting under a key of this section, mapping or list."""
        annotation = _without_none(_unwrapped(self.annotation)[0])
        if is_section(annotation):
            return setting_of(annotation.model_fields[key]) if key in annotation.model_fields else NOTHING
        arguments = typing.get_args(annotation)
        if typing.get_origin(annotation) is dict:
            return Setting(arguments[1])
        if typing.get_origin(annotation) in (tuple, list, set, frozenset) and arguments:
            return Setting(arguments[0])
        return NOTHING

    @property
    def choices(self) -> dict[str, type[pydantic.BaseModel]]:
        """The sections of a union, by the one value of the field that identifies each, such as `reader` or `kind`."""
        return {tag: member for _, tag, member in self._tagged()}

    def _tagged(self) -> Iterator[tuple[str, str, type[pydantic.BaseModel]]]:
        """(field, value, class) of each section of a union."""
        union = _unwrapped(_without_none(_unwrapped(self.annotation)[0]))[0]
        for member in typing.get_args(union):
            for name, field in member.model_fields.items() if is_section(member) else ():
                values = typing.get_args(field.annotation)
                if typing.get_origin(field.annotation) is typing.Literal and len(values) == 1:
                    yield name, values[0], member

    def section(self, value: Any) -> type[pydantic.BaseModel] | None:
        """The class of the section at this place, given its value; None for a plain value."""
        annotation = _without_none(_unwrapped(self.annotation)[0])
        if is_section(annotation):
            return annotation
        content = value if isinstance(value, dict) else {}
        return next((member for name, tag, member in self._tagged() if content.get(name) == tag), None)


NOTHING = Setting(None)


def is_section(annotation: Any) -> bool:
    """True for the class of a section."""
    return isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel)


def setting_of(field: FieldInfo) -> Setting:
    """The setting of a field of a config class."""
    return Setting(field.annotation, tuple(field.metadata))


def sections_in(
    document: dict[str, Any], *, model: type[pydantic.BaseModel], place: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], dict[str, Any], type[pydantic.BaseModel]]]:
    """(place, content, class) of the document and of every section in it that its class knows."""
    yield place, document, model
    for key, field in model.model_fields.items():
        value, setting = document.get(key), setting_of(field)
        if not isinstance(value, dict):
            continue
        entries: dict[tuple[str, ...], tuple[Any, Setting]] = {(key,): (value, setting)}
        if typing.get_origin(_without_none(setting.annotation)) is dict:
            entries = {(key, str(name)): (entry, setting.inner(str(name))) for name, entry in value.items()}
        for inner, (entry, inner_setting) in entries.items():
            inner_model = inner_setting.section(entry)
            if isinstance(entry, dict) and inner_model is not None:
                yield from sections_in(entry, model=inner_model, place=(*place, *inner))


def _unwrapped(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """The type within `Annotated`, and the annotations."""
    if typing.get_origin(annotation) is not typing.Annotated:
        return annotation, ()
    inner, *metadata = typing.get_args(annotation)
    return inner, tuple(metadata)


def _is_union(annotation: Any) -> bool:
    return typing.get_origin(annotation) in (typing.Union, types.UnionType)


def _without_none(annotation: Any) -> Any:
    """`X` of `X | None`."""
    members = [member for member in typing.get_args(annotation) if member is not types.NoneType]
    return members[0] if _is_union(annotation) and len(members) == 1 else annotation


_WORDS = {bool: "true or false", str: "text", Path: "a path"}
_NUMBERS = {int: "a whole number", float: "a number"}


def _describe(annotation: Any, metadata: Sequence[Any]) -> str:
    annotation, more = _unwrapped(annotation)
    metadata = (*metadata, *more)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if _is_union(annotation):
        return _describe_union(arguments, metadata)
    if annotation in _NUMBERS:
        return f"{_NUMBERS[annotation]} {_range(metadata)}".rstrip()
    if annotation in _WORDS:
        return f"{_WORDS[annotation]} {_length(metadata, unit='character')}".rstrip()
    if origin is typing.Literal:
        return arguments[0] if len(arguments) == 1 else f"one of {', '.join(map(str, arguments))}"
    if is_section(annotation):
        return f"a section with keys of {', '.join(annotation.model_fields)}"
    if origin is dict:
        return f"a section {_length(metadata, unit='named entry')}".rstrip()
    if origin in (tuple, list, set, frozenset) and arguments:
        return f"a list, each entry {_describe(arguments[0], ())}"
    return ""


def _describe_union(members: Sequence[Any], metadata: Sequence[Any]) -> str:
    kinds = [_describe(member, metadata) for member in members if member is not types.NoneType]
    if len(kinds) > 1 and any(map(is_section, members)):
        kinds = ["a section"]
    words = " or ".join(filter(None, kinds))
    return f"{words}, or null" if words and types.NoneType in members else words


def _range(metadata: Sequence[Any]) -> str:
    low, above, high, below = (_constraint(metadata, name) for name in ("ge", "gt", "le", "lt"))
    if low is not None and high is not None:
        return f"from {low:g} to {high:g}"
    lower = "" if low is None and above is None else f"above {above:g}" if low is None else f"of {low:g} or more"
    upper = "" if high is None and below is None else f"below {below:g}" if high is None else f"of {high:g} or less"
    return " and ".join(filter(None, (lower, upper)))


def _length(metadata: Sequence[Any], *, unit: str) -> str:
    least, most = _constraint(metadata, "min_length"), _constraint(metadata, "max_length")
    if least is not None and least == most:
        return f"of {least} {unit}"
    return "" if least is None else f"with at least {least} {unit}"


def _constraint(metadata: Sequence[Any], name: str) -> Any:
    return next((value for one in metadata if (value := getattr(one, name, None)) is not None), None)
