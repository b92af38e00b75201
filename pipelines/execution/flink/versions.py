"""The versions of Flink and of Beam's job server, from `pom.xml`, and the sha256 of their files, from `sha256sums`."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

POM = Path(__file__).with_name("pom.xml")
SUMS = Path(__file__).with_name("sha256sums")
_MAVEN = "{http://maven.apache.org/POM/4.0.0}"


class Versions(NamedTuple):
    """The versions in `pom.xml`; `flink_line` is the part of Flink's version that Beam's runner is built for."""

    flink_line: str
    flink: str
    beam: str
    java: str


@functools.cache
def versions() -> Versions:
    """The versions that are installed and tested."""
    properties = ElementTree.parse(POM).getroot().find(f"{_MAVEN}properties")
    assert properties is not None
    found = {one.tag.removeprefix(_MAVEN): str(one.text) for one in properties}
    return Versions(found["flink.line"], found["flink.version"], found["beam.version"], found["java.version"])


@functools.cache
def sums() -> dict[str, str]:
    """sha256 of every archive and jar, by file name."""
    rows = (line.split() for line in SUMS.read_text(encoding="utf-8").splitlines())
    return {name: digest for digest, name in rows}


def installation_name() -> str:
    """A name that changes with any version or sum."""
    digest = hashlib.sha256(POM.read_bytes() + SUMS.read_bytes()).hexdigest()
    return f"flink-{versions().flink}-beam-{versions().beam}-{digest[:8]}"
