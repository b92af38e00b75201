"""The Jinja environment of all pages: every value is escaped."""

from __future__ import annotations

import jinja2

from pipelines.html.numbers import format_number, format_percent, format_signed


def template_environment(package: str) -> jinja2.Environment:
    """Load templates from `package`, then from `pipelines.html`.

    Texts, ids and paths of a corpus are untrusted, so autoescape is always on.
    """
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(package), jinja2.PackageLoader("pipelines.html")]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["thousands"] = lambda value: f"{value:,}"
    environment.filters["tidy"] = format_number
    environment.filters["signed"] = format_signed
    environment.filters["percent"] = format_percent
    return environment
