"""Configs: a YAML file and `key=value` overrides become a frozen, typed object, or one clear error message."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import pydantic
import yaml

from shared.config_errors import describe_error
from shared.config_schema import SEPARATOR, sections_in
from shared.errors import UserError
from shared.storage_path import StoragePath

MAX_CONFIG_BYTES = 1 << 20


Document = dict[str, Any]


class Config(pydantic.BaseModel):
    """Base of every config section: frozen; unknown keys, infinity and NaN are errors."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    # Old key -> new key, both relative to this section; `section.key` reaches into a subsection. A config that uses an
    # old key is refused, and the message gives the new one.
    RENAMED: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def overridden(cls, document: Document, *, words: Sequence[str]) -> Document:
        """A copy of a file's document with the `section.key=value` overrides applied in order.

        Raises:
            UserError: a word is not `key=value`, its value is not YAML, or its key leads through a plain value.
        """
        changed = copy.deepcopy(document)
        for word in words:
            _override(changed, word)
        return changed


class ConfigKind(NamedTuple):
    """A kind of config file, to report a file that was given to the wrong command."""

    name: str
    command: str
    example: str
    keys: frozenset[str]  # top-level keys that no other kind has


# The rooms do not import each other, so the keys are listed here;
# tests/test_configs.py compares them with the settings.
CONFIG_KINDS = (
    ConfigKind(
        "a data config",
        "`myxtts-data build` (`make preprocess`)",
        "configs/preprocess_sample.yaml",
        frozenset({"sources", "tokenizer", "features", "checks"}),
    ),
    ConfigKind(
        "a training config",
        "`myxtts-train train` (`make train`)",
        "configs/train_sample.yaml",
        frozenset({"model", "input", "plateau", "recovery", "synthesis_eval"}),
    ),
    ConfigKind(
        "a vocoder config",
        "`myxtts-train vocoder train` (`make vocoder`)",
        "configs/vocoder_sample.yaml",
        frozenset({"generator", "discriminators", "segment_frames", "batch_size", "validation_clips"}),
    ),
)

C = TypeVar("C", bound=Config)


def load_config(path: StoragePath | str, *, of: type[C], overrides: Sequence[str] = ()) -> C:
    """Load a YAML file as a config of class `of`, with `section.key=value` overrides (values are YAML).

    Raises:
        UserError: the file cannot be read or is not YAML; a key is unknown or was renamed; a value has the wrong type
            or is out of range; the file is a config for another command.
    """
    in_file = read_yaml(Path(path) if isinstance(path, str) else path)
    if (swapped := _other_kind(in_file, of=of)) is not None:
        raise UserError(f"{path}: {swapped}")
    document = of.overridden(in_file, words=overrides)
    for old, new in _renamed_keys(document, model=of):
        raise UserError(f"{_origin(old, path, overrides)}: {old}: unknown key; it was renamed: use {new}")
    try:
        return of.model_validate(document)
    except pydantic.ValidationError as error:
        message = describe_error(error, model=of, in_file=in_file)
        raise UserError(f"{_origin(message.partition(': ')[0], path, overrides)}: {message}") from error


def _origin(key: str, path: StoragePath | str, overrides: Sequence[str]) -> str:
    """Where the value at `key` was given: on the command line, or in the file."""
    names = [word.partition("=")[0] for word in overrides]
    is_overridden = any(key == name or key.startswith(f"{name}{SEPARATOR}") for name in names)
    return "command line" if is_overridden else str(path)


def _other_kind(document: Document, *, of: type[Config]) -> str | None:
    """The message for a file that is a config for another command; None for any other file."""
    expected = next((kind for kind in CONFIG_KINDS if kind.keys <= of.model_fields.keys()), None)
    if expected is None or expected.keys & document.keys():
        return None
    for kind in CONFIG_KINDS:
        keys = [key for key in document if key in kind.keys and key not in of.model_fields]
        if keys:
            found = f"this is {kind.name} (it has `{keys[0]}`), for {kind.command}"
            return f"{found}; expected {expected.name}, such as {expected.example}"
    return None


def _renamed_keys(document: Document, *, model: type[Config]) -> Iterator[tuple[str, str]]:
    """(old, new), both from the top of the document, of the renamed keys that it uses."""
    for place, section, section_model in sections_in(document, model=model):
        for old, new in getattr(section_model, "RENAMED", {}).items():
            if _has(section, old):
                yield SEPARATOR.join([*place, old]), SEPARATOR.join([*place, new])


def _has(section: Document, key: str) -> bool:
    value: Any = section
    for part in key.split(SEPARATOR):
        if not isinstance(value, dict) or part not in value:
            return False
        value = value[part]
    return True


class _Loader(yaml.SafeLoader):
    """Loads plain values only, and refuses a repeated key; YAML's own loader silently drops the first value."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {key.value!r} occurs twice", problem_mark=key.start_mark)
            seen.add(key.value)
        return node


def _parse(text: str) -> Any:
    """Parse YAML; raises ValueError with a message of one line."""
    try:
        return yaml.load(text, Loader=_Loader)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: an impossible date or number, such as 2024-13-45
        raise ValueError(" ".join(str(error).split())) from error


def read_yaml(path: StoragePath) -> Document:
    """Read a YAML file whose top level is a mapping, without checking its keys.

    Raises:
        UserError: the file cannot be read, is larger than any config, or is no such YAML.
    """
    try:
        if path.stat().st_size > MAX_CONFIG_BYTES:
            raise UserError(f"{path}: over {MAX_CONFIG_BYTES} bytes, which no config needs")
        document = _parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot read the config ({error.strerror}); see configs/ for examples") from error
    except ValueError as error:
        raise UserError(f"{path}: not YAML: {error}") from error
    if not isinstance(document, dict):
        raise UserError(f"{path}: not a config; expected `key: value` lines; see configs/ for examples")
    return document


def _override(document: Document, override: str) -> None:
    name, equals, value = override.partition("=")
    if not equals or not name:
        raise UserError(
            f"{override!r}: not an override; expected key=value, such as sources.ljspeech.root=/data/LJSpeech-1.1"
        )
    *sections, last = name.split(SEPARATOR)
    for section in sections:
        if document.get(section) is None:  # also an empty section, which is null in YAML
            document[section] = {}
        inner = document[section]
        if not isinstance(inner, dict):
            raise UserError(f"{override!r}: {section!r} is a value, not a section")
        document = inner
    try:
        document[last] = _parse(value)
    except ValueError as error:
        raise UserError(f"{override!r}: the value is not YAML: {error}") from error
