"""Differences between two datasets as a whole: contract, config, sources, speakers, languages and vocabulary."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from shared.dataset import Dataset
from shared.vocabulary import Vocabulary

ABSENT = "—"
# Fields of the contract start with this.
CONTRACT = "contract."


class SettingDifference(NamedTuple):
    """One field with different values on the two sides; values are JSON text."""

    field: str
    a: str
    b: str


class NameDifferences(NamedTuple):
    """Names that only one side has, and names with another number of records."""

    kind: str  # "speakers", "languages" or "vocabulary"
    removed: list[str]
    added: list[str]
    changed: list[tuple[str, int, int]]  # name, records in A, in B

    @property
    def differ(self) -> bool:
        return bool(self.removed or self.added or self.changed)


def setting_differences(a: Dataset, b: Dataset) -> list[SettingDifference]:
    """The fields of contract, config and sources that differ, in alphabetical order."""
    before, after = (dict(_flat(_settings(one), path="")) for one in (a, b))
    return [
        SettingDifference(field, before.get(field, ABSENT), after.get(field, ABSENT))
        for field in sorted(before.keys() | after.keys())
        if before.get(field) != after.get(field)
    ]


def _settings(dataset: Dataset) -> dict[str, Any]:
    info = dataset.info
    return {
        "contract": info.contract.model_dump(mode="json"),
        "config": _config(dataset),
        "sources": {
            name: source.model_dump(mode="json", exclude={"shards"}) | {"shards": len(source.shards)}
            for name, source in info.sources.items()
        },
        "characters_per_second": info.selection.characters_per_second,
    }


def _config(dataset: Dataset) -> Any:
    """The config of the build; text that is not YAML is compared as text."""
    try:
        text = dataset.layout.config.read_text("utf-8")
    except (OSError, ValueError) as error:
        return f"cannot be read ({error})"
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text


def _flat(value: Any, *, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, path=f"{path}.{key}" if path else str(key))
    else:
        yield path, json.dumps(value, ensure_ascii=False)


def name_differences(a: Dataset, b: Dataset) -> list[NameDifferences]:
    """Differences of speakers, languages and vocabulary.

    Raises:
        UserError: a vocabulary cannot be read.
    """
    speakers = ({name: one.records for name, one in side.info.speakers.items()} for side in (a, b))
    languages = ({name: one.records for name, one in side.info.languages.items()} for side in (a, b))
    return [_names("speakers", *speakers), _names("languages", *languages), _vocabulary(a, b)]


def _names(kind: str, before: dict[str, int], after: dict[str, int]) -> NameDifferences:
    both = sorted(before.keys() & after.keys())
    return NameDifferences(
        kind,
        removed=sorted(before.keys() - after.keys()),
        added=sorted(after.keys() - before.keys()),
        changed=[(name, before[name], after[name]) for name in both if before[name] != after[name]],
    )


def _vocabulary(a: Dataset, b: Dataset) -> NameDifferences:
    """Vocabulary entries as `17 ▁the`: token id and piece."""
    if a.info.vocabulary_sha256 == b.info.vocabulary_sha256:
        return NameDifferences("vocabulary", [], [], [])
    loaded = (Vocabulary.load(side.layout.vocabulary) for side in (a, b))
    pieces = (
        {f"{number} {piece}": 0 for number, piece in zip(one.nllb_ids.tolist(), one.pieces, strict=True)}
        for one in loaded
    )
    return _names("vocabulary", *pieces)
