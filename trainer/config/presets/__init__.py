"""Levels of optimization: named settings of a training config, a small file each.

level: enhanced                      the whole of levels/enhanced.yaml, for the model's size
optimizer: {learning_rate: 4.0e-5}   what the config itself says wins, field by field

A level on the command line lies over the config, in place of the config's own; other words there lie over both.
"""

from __future__ import annotations

from importlib import resources
from typing import Literal

import yaml

from shared.config import Document

Level = Literal["basic", "enhanced", "plateau_breaker", "experimental"]


def level_settings(level: str, *, size: str) -> Document:
    """What a level says for a model of this size, as a part of a training config's document."""
    settings = yaml.safe_load((resources.files(__name__) / f"{level}.yaml").read_text(encoding="utf-8"))
    return laid_over(settings, above=settings.pop("sizes", {}).get(size, {}))


def laid_over(below: Document, *, above: Document) -> Document:
    """The settings above, and of those below what is not said above; two kinds of a thing are not mixed."""
    if "kind" in above and above["kind"] != below.get("kind"):
        return above
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, dict) and isinstance(below.get(key), dict)
        merged[key] = laid_over(below[key], above=value) if both else value
    return merged


def without_what_is_none(settings: Document, *, document: Document) -> Document:
    """Settings less the sections for which a document has something that is none, for pydantic to name."""
    kept = dict(settings)
    for key, value in settings.items():
        if isinstance(value, dict) and (said := document.get(key)) is not None:
            if isinstance(said, dict):
                kept[key] = without_what_is_none(value, document=said)
            else:
                del kept[key]
    return kept
