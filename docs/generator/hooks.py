"""mkdocs hook: fills `<!-- generated: NAME -->` in a page with the table of that name."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = str(Path(__file__).resolve().parents[2])
MARKER = re.compile(r"^<!-- generated: ([a-z ]+) -->$", re.MULTILINE)


def generators() -> dict[str, Callable[[], str]]:
    """The generated parts by name."""
    from docs.generator import tables
    from docs.generator.settings import reference
    from pipelines.config import BuildConfig
    from trainer.config.train_config import TrainConfig
    from trainer.config.vocoder_train_config import VocoderTrainConfig

    return {
        "archives": tables.archives,
        "corpora": tables.corpora,
        "checks": tables.checks,
        "failures": tables.failures,
        "records": tables.records,
        "features": tables.features,
        "commands": tables.commands,
        "make targets": tables.make_targets,
        "status": tables.status,
        "data settings": lambda: reference(BuildConfig),
        "training settings": lambda: reference(TrainConfig),
        "vocoder settings": lambda: reference(VocoderTrainConfig),
    }


def filled(markdown: str) -> str:
    """The page with its generated parts.

    Raises:
        KeyError: a marker names no generated part.
    """
    return MARKER.sub(lambda match: generators()[match[1]](), markdown)


def on_startup(**_: Any) -> None:
    """Called by mkdocs once; a change of the path while a hook is loaded would be undone."""
    if ROOT not in sys.path:
        sys.path.insert(0, ROOT)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by mkdocs for each page before it is rendered."""
    return filled(markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Called by mkdocs with each page's HTML."""
    from docs.generator.narrow_tables import label_tables

    return label_tables(html)
