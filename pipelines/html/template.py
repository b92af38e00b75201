"""Templates that pages are made from."""

from __future__ import annotations

import jinja2

from pipelines.html.axes import written
from pipelines.report.assessment import percent


def template_environment(*packages: str) -> jinja2.Environment:
    """Templates of these packages, the first that has one of a name.

    Whatever is not of the template is a stranger's text: everything is escaped.
    """
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(package) for package in packages]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["count"] = lambda value: f"{value:,}"
    environment.filters["tidy"] = written
    environment.filters["percent"] = percent
    return environment
