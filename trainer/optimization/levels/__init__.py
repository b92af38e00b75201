"""Levels of optimization: named settings of a training config, a small file each.

level: enhanced                      the whole of levels/enhanced.yaml, for the model's size
optimizer: {learning_rate: 4.0e-5}   what the config itself says wins, field by field
"""

from __future__ import annotations

from importlib import resources
from typing import Any, Literal

import yaml

Level = Literal["basic", "enhanced", "plateau_breaker", "experimental"]

Document = dict[str, Any]


def with_level(document: Document, *, level: str, size: str) -> Document:
    """A training config's document over the settings of a level for a model of this size."""
    settings = yaml.safe_load((resources.files(__name__) / f"{level}.yaml").read_text(encoding="utf-8"))
    by_size = settings.pop("sizes", {})
    return _over(_over(settings, by_size.get(size, {})), document)


def _over(below: Document, above: Document) -> Document:
    """The settings above, and of those below what is not said above; two kinds of a thing are not mixed."""
    if "kind" in above and above["kind"] != below.get("kind"):
        return above
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, dict) and isinstance(below.get(key), dict)
        merged[key] = _over(below[key], value) if both else value
    return merged
