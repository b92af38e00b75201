"""The Jinja environment of all pages: it escapes every value and hashes the page's script for its CSP."""

from __future__ import annotations

import base64
import functools
import hashlib
import re

import jinja2
from markupsafe import Markup, escape

from pipelines.html.numbers import format_number, format_percent, format_signed

_BREAKS = re.compile(r"(?<=[/_.\-])")


@functools.cache  # it compiles each template once, which takes longer than to render it
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
    environment.filters["breakable"] = breakable
    return environment


def breakable(name: str) -> Markup:
    """Let a browser break an id or a path after `/ _ . -`, and nowhere within a word or a hash."""
    return Markup("<wbr>").join(escape(part) for part in _BREAKS.split(name))


def inline_script(environment: jinja2.Environment, *names: str) -> tuple[Markup, str]:
    """Join script files into the one script of a page.

    Returns:
        The script, and its sha256 in base64: the Content-Security-Policy of the page allows this script only.
    """
    script = "".join(environment.get_template(name).render() + "\n" for name in names)
    return Markup(script), base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
