"""Formats a validation report for the terminal: verdict, a line per file and check, and commands that fix findings."""

from __future__ import annotations

import io
import itertools
import re
import shutil
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from pipelines.validation.findings import Finding, ValidationReport
from pipelines.validation.reports import report_path
from shared.layout import Layout
from shared.messages import counted
from shared.storage_path import StoragePath

SHOWN_LINES = 30
SHOWN_RECORDS = 3
MAX_TEXT = 120
_SHA256 = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")
MIN_WIDTH, PIPED_WIDTH = 100, 200


def validation_summary(report: ValidationReport, *, data: StoragePath) -> str:
    """The verdict, the findings by file and check, and the commands that fix them."""
    verdict = counted(report.found, "finding") if report.findings else "clean"
    trusted = f", {report.trusted} of them unchanged since they were found clean" if report.trusted else ""
    lines = [
        f"{data}: {verdict}: {report.shards} shards{trusted}, {report.records} records, "
        f"{report.bytes / 2**20:.1f} MiB, {report.seconds:.1f} s"
    ]
    if report.findings:
        groups = _by_file_and_check(report.findings)
        lines.append(_table(groups[:SHOWN_LINES]))
        if len(groups) > SHOWN_LINES:
            lines.append(f"and {len(groups) - SHOWN_LINES} more lines; the report has all of them")
    if (path := report_path(Layout(data), report)).is_file():
        lines.append(f"report: {path}")
    fixes = list(dict.fromkeys(finding.fix for finding in report.findings))
    lines += [f"fix: {fix}" for fix in fixes[:SHOWN_LINES]]
    return "\n".join(lines)


def _by_file_and_check(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Group findings by file and check, in the order of their first occurrence."""
    kinds: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        kinds.setdefault((finding.file, finding.check), []).append(finding)
    return list(kinds.values())


def _table(groups: Sequence[Sequence[Finding]]) -> str:
    table = Table(box=None, pad_edge=False, header_style="")
    for name in ("file", "record", "utterance", "what is wrong", "expected"):
        table.add_column(name, overflow="fold", no_wrap=name == "file")
    for group in groups:
        first = group[0]
        utterances = [one.utterance_id for one in group if one.utterance_id is not None]
        table.add_row(
            first.file,
            _record_indices(group),
            _shorten(utterances[0]) + " …" * (len(utterances) > 1) if utterances else "",
            _shorten(f"{first.check}: {first.message}"),
            _shorten(first.expected or ""),
        )
    sink = io.StringIO()
    Console(file=sink, width=_width(), highlight=False, markup=False, emoji=False).print(table)
    return "\n".join(line.rstrip() for line in sink.getvalue().rstrip().splitlines())


def _record_indices(group: Sequence[Finding]) -> str:
    """Indices of records as `2, 5, 6 … 40 in all`."""
    indices = [str(one.index) for one in group if one.index is not None]
    count = len(indices) + group[-1].omitted
    shown = ", ".join(itertools.islice(indices, SHOWN_RECORDS))
    return f"{shown} … {count} in all" if count > SHOWN_RECORDS else shown


def _shorten(text: str) -> str:
    """The text with shortened sums and at most `MAX_TEXT` characters; the report has all of it."""
    text = _SHA256.sub(r"\1…", text)
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"


def _width() -> int:
    return max(shutil.get_terminal_size((PIPED_WIDTH, 0)).columns, MIN_WIDTH)
