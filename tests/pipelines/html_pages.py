"""HTML pages as a browser parses them: elements with their ancestors, and text."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import html.parser
import re
from pathlib import Path

Attributes = dict[str, str | None]
VOID = {"meta", "img", "br", "wbr", "input", "link", "hr", "rect", "line", "polyline"}


@dataclasses.dataclass(eq=False)
class Element:
    """One element; two elements are never equal."""

    tag: str
    attributes: Attributes
    ancestors: tuple[Element, ...]  # the outermost first
    texts: list[str]

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def is_within(self, tag: str, **attributes: str) -> bool:
        """An ancestor has this tag and these attributes."""
        return any(one.tag == tag and attributes.items() <= one.attributes.items() for one in self.ancestors)


class Page(html.parser.HTMLParser):
    """The elements and the text of a page; scripts and styles are not text."""

    def __init__(self, path: Path):
        super().__init__()
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self._texts: list[str] = []
        self.source = path.read_text("utf-8")
        self.feed(self.source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs), tuple(self._open), [])
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, dict(attrs), tuple(self._open), []))

    def handle_endtag(self, tag: str) -> None:
        if any(one.tag == tag for one in self._open):
            while self._open.pop().tag != tag:
                pass

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.texts.append(data)
        if not self._open or self._open[-1].tag not in ("script", "style"):
            self._texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self._texts)

    def all_of(self, tag: str) -> list[Attributes]:
        return [one.attributes for one in self.elements if one.tag == tag]

    def having(self, attribute: str) -> list[Element]:
        """The elements with an attribute."""
        return [one for one in self.elements if attribute in one.attributes]

    def values(self, attribute: str) -> list[str]:
        """The values of an attribute, in the order of the page."""
        return [str(one.attributes[attribute]) for one in self.having(attribute)]

    @property
    def facts(self) -> dict[str, float]:
        """Each number of the page by its name."""
        found = [one.attributes for one in self.having("data-fact")]
        return {str(one["data-fact"]): float(str(one["data-value"])) for one in found}


def check_isolation(page: Page) -> None:
    """Assert that the page loads nothing, and that its policy allows no script but its own."""
    addresses = [
        str(one.attributes[name]) for one in page.elements for name in ("src", "href") if name in one.attributes
    ]
    assert all(address.startswith(("data:", "#")) for address in addresses)
    assert "@import" not in page.source
    assert not re.search(r"url\(", page.source)
    assert not [one for one in page.elements if any(name.startswith("on") for name in one.attributes)]
    policy = next(str(one["content"]) for one in page.all_of("meta") if "http-equiv" in one)
    assert policy.startswith("default-src 'none'")
    assert "script-src 'unsafe" not in policy
    scripts = [one for one in page.elements if one.tag == "script"]
    hashes = [base64.b64encode(hashlib.sha256(one.text.encode()).digest()).decode() for one in scripts]
    assert re.findall(r"'sha256-([^']+)'", policy) == hashes
    assert len(scripts) <= 1
