"""The licences of a dataset's sources, as its config states them."""

from __future__ import annotations

from preprocess.corpora.source import LICENSE
from shared.config import read_yaml
from shared.dataset import Dataset

NOT_STATED = "not stated"


def read_licenses(dataset: Dataset) -> dict[str, str | None]:
    """The licence of each source; None if the config states none.

    Raises:
        UserError: config.yaml cannot be read, or is no YAML.
    """
    sources = read_yaml(dataset.layout.config).get("sources")
    return {name: _license(sources, name=name) for name in sorted(dataset.info.sources)}


def _license(sources: object, *, name: str) -> str | None:
    source = sources.get(name) if isinstance(sources, dict) else None
    found = source.get("license") if isinstance(source, dict) else None
    return found if isinstance(found, str) and LICENSE.fullmatch(found) and found.isprintable() else None
