"""What the terminal says about downloads."""

from __future__ import annotations

from pathlib import Path

from pipelines.download.archives import ARCHIVES


def archives_table() -> str:
    """The corpora that can be downloaded: name, hours, size of the archive, licence, reader."""
    rows = [("name", "hours", "archive", "licence", "reader")]
    rows += [
        (name, f"{one.hours:.1f}", f"{one.size_bytes / 1e9:.1f} GB", one.licence, one.reader)
        for name, one in ARCHIVES.items()
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def next_steps(name: str, *, to: Path) -> str:
    """Where the corpus is, and the line of a config that reads it."""
    archive = ARCHIVES[name]
    folder = to / archive.folder
    license_ = f"license: {archive.licence}"
    source = f"{archive.reader}: {{reader: {archive.reader}, root: {folder}, language: {archive.language}, {license_}}}"
    return f"{folder}: {archive.hours:.1f} hours, {archive.licence}\nin a config, below `sources:`\n  {source}"
