"""Config errors in plain words: where the mistake is, which value was found, and what was expected."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pydantic

from shared.config_schema import SEPARATOR, Setting, is_section, join_keys, printable, setting_of

MAX_SHOWN_CHARACTERS = 200


class Location(NamedTuple):
    """A place in a document."""

    names: tuple[str, ...]
    section: type[pydantic.BaseModel]  # the innermost section that the place lies in
    setting: Setting

    def __str__(self) -> str:
        return join_keys(self.names) or "the config"


def describe_error(
    error: pydantic.ValidationError,
    *,
    model: type[pydantic.BaseModel],
    in_file: dict[str, Any],
) -> str:
    """The first mistake in a document, in one line.

    Unknown keys come before all others, because a misspelt key is often why another one is missing.

    Args:
        in_file: the document without the command line's overrides.
    """
    problems = error.errors(include_url=False)
    problem: Any = next((one for one in problems if one["type"] == "extra_forbidden"), problems[0])
    location, kind = _locate(model, problem["loc"]), problem["type"]
    if kind == "extra_forbidden":
        return f"{location}: unknown key; {_known_keys(location, model=model)}"
    if kind == "invalid_key":
        return f"{location}: the key {problem['input']!r} is not text; expected text; put it in quotes"
    if location.names[-1:] == ("[key]",):
        return _bad_name(problem, names=location.names[:-1])
    if kind in ("missing", "union_tag_not_found"):
        tag = [problem["ctx"]["discriminator"].strip("'")] if kind == "union_tag_not_found" else []
        return _missing([*location.names, *tag], in_file=in_file)
    if kind == "union_tag_invalid":
        known = [tag.strip("' ") for tag in problem["ctx"]["expected_tags"].split(",")]
        found, discriminator = problem["ctx"]["tag"], problem["ctx"]["discriminator"].strip("'")
        return f"{location}.{discriminator}: unknown {found!r}; {_nearest(found, known)}known: {', '.join(known)}"
    return f"{location}: {_bad_value(problem, location=location)}"


def _bad_value(problem: Mapping[str, Any], *, location: Location) -> str:
    found = shown(problem["input"])
    if problem["type"] == "value_error":
        message = str(problem["ctx"]["error"])
        if not location.names or found in message:  # a mistake of several keys together has no value of its own
            return message
        return f"found {found}; {message}"
    expected = location.setting.describe() or problem["msg"].removeprefix("Input should be ")
    if problem["type"] == "finite_number":
        expected = expected.replace("a number", "a finite number", 1)
    return f"found {found}; expected {expected}"


def _bad_name(problem: Mapping[str, Any], *, names: Sequence[str]) -> str:
    pattern = problem.get("ctx", {}).get("pattern")
    expected = f"one that matches {pattern}" if pattern else problem["msg"]
    return f"{join_keys(names)}: {shown(problem['input'])} cannot be a name here; expected {expected}"


def _known_keys(location: Location, *, model: type[pydantic.BaseModel]) -> str:
    *place, key = location.names
    known = sorted(location.section.model_fields)
    near = difflib.get_close_matches(key, known, n=1)
    nearest = [join_keys([*place, near[0]])] if near else [path for path in _all_keys(model) if _last(path) == key]
    suggestion = f"did you mean {nearest[0]}? " if nearest else ""
    return f"{suggestion}known here: {', '.join(near + [name for name in known if name not in near])}"


def _last(path: str) -> str:
    return path.rpartition(SEPARATOR)[2]


def _all_keys(model: type[pydantic.BaseModel], *, prefix: str = "") -> Iterator[str]:
    """Every key of a config class and of the sections in it, from the top."""
    for name, field in model.model_fields.items():
        yield f"{prefix}{name}"
        section = setting_of(field).section(None)
        if section is not None:
            yield from _all_keys(section, prefix=f"{prefix}{name}{SEPARATOR}")


def _missing(names: Sequence[str], *, in_file: dict[str, Any]) -> str:
    """Report a missing key, or the misspelt section that an override created by naming it."""
    where = join_keys(names)
    *place, section, _ = ["", *names]
    siblings = _at(in_file, place[1:])
    if section and isinstance(siblings, dict) and siblings and section not in siblings:
        path = join_keys([*place[1:], section])
        near = _nearest(section, siblings, prefix=join_keys([*place[1:], ""]))
        listed = ", ".join(map(printable, siblings))
        return f"{path}: not in the file; {near}the file has: {listed}; a new one needs {where}=…"
    return f"{where}: missing; give it in the file or as {where}=…"


def _at(document: Any, names: Sequence[str]) -> Any:
    for name in names:
        document = document.get(name) if isinstance(document, dict) else None
    return document


def _nearest(name: str, known: Iterable[Any], *, prefix: str = "") -> str:
    near = difflib.get_close_matches(name, list(map(str, known)), n=1)
    return f"did you mean {prefix}{printable(near[0])}? " if near else ""


def shown(value: Any) -> str:
    """A value for a message. Of a section or list only the size, because aliases can make it grow without bound."""
    if isinstance(value, dict | list | set):
        return f"a {type(value).__name__} of {len(value)}"
    text = "null" if value is None else repr(value)
    return text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[:MAX_SHOWN_CHARACTERS]}…"


def _locate(model: type[pydantic.BaseModel], location: Sequence[str | int]) -> Location:
    """The location that pydantic reports.

    For a section that is one of several kinds, such as a source, pydantic puts the kind's name among the keys.
    """
    names: list[str] = []
    section, setting = model, Setting(model)
    for part in map(str, location):
        choice = setting.choices.get(part)
        if choice is not None:
            section, setting = choice, Setting(choice)
            continue
        names.append(part)
        setting = setting.inner(part)
        if is_section(found := setting.section(None)):
            section = found  # type: ignore[assignment]
    return Location(tuple(names), section, setting)
