"""Optimisation presets: named parts of a training config, one YAML file each.

preset: enhanced                     all settings of presets/enhanced.yaml, for the model's size
optimizer: {learning_rate: 4.0e-5}   settings of the config itself override the preset's, field by field

A preset on the command line overrides the config file, and replaces the preset that the file names; other overrides
on the command line take precedence over both.
"""

from __future__ import annotations

from importlib import resources
from typing import Literal

import yaml

from shared.config import Document

Preset = Literal["basic", "enhanced", "plateau_breaker", "experimental"]


def preset_settings(preset: str, *, size: str) -> Document:
    """The settings of a preset for a model of this size, as part of a training config's document."""
    settings = yaml.safe_load((resources.files(__name__) / f"{preset}.yaml").read_text(encoding="utf-8"))
    return merged(settings, overrides=settings.pop("sizes", {}).get(size, {}))


def merged(settings: Document, *, overrides: Document) -> Document:
    """`settings` with `overrides` laid over them, section by section; a section of another `kind` is replaced whole."""
    if "kind" in overrides and overrides["kind"] != settings.get("kind"):
        return overrides
    result = dict(settings)
    for key, value in overrides.items():
        are_sections = isinstance(value, dict) and isinstance(settings.get(key), dict)
        result[key] = merged(settings[key], overrides=value) if are_sections else value
    return result


def without_malformed_sections(settings: Document, *, document: Document) -> Document:
    """`settings` less the sections for which `document` holds no section, so that pydantic reports the mistake."""
    kept = dict(settings)
    for key, value in settings.items():
        if isinstance(value, dict) and (given := document.get(key)) is not None:
            if isinstance(given, dict):
                kept[key] = without_malformed_sections(value, document=given)
            else:
                del kept[key]
    return kept
