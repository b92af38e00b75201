"""What the terminal shows of a validation: the verdict, a line for each kind of finding in each file, what mends it."""

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
from shared.storage_path import StoragePath

SHOWN_LINES = 30
SHOWN_RECORDS = 3
MAX_TEXT = 120
_SUM = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")
MIN_WIDTH, PIPED_WIDTH = 100, 200


def validation_summary(report: ValidationReport, *, data: StoragePath) -> str:
    """The verdict, the findings grouped by file and kind, and the commands that mend them."""
    verdict = f"{report.found} finding{'s' * (report.found > 1)}" if report.findings else "clean"
    trusted = f", {report.trusted} of them unchanged since they were found clean" if report.trusted else ""
    lines = [
        f"{data}: {verdict}: {report.shards} shards{trusted}, {report.records} records, "
        f"{report.bytes / 2**20:.1f} MiB, {report.seconds:.1f} s"
    ]
    if report.findings:
        groups = _grouped(report.findings)
        lines.append(_table(groups[:SHOWN_LINES]))
        if len(groups) > SHOWN_LINES:
            lines.append(f"and {len(groups) - SHOWN_LINES} lines more; the report has them all")
    if (path := report_path(Layout(data), report)).is_file():
        lines.append(f"report: {path}")
    fixes = list(dict.fromkeys(finding.fix for finding in report.findings))
    lines += [f"fix: {fix}" for fix in fixes[:SHOWN_LINES]]
    return "\n".join(lines)


def _grouped(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Of one kind in one file, in the order in which they were found first."""
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
            _records(group),
            _shown(utterances[0]) + " …" * (len(utterances) > 1) if utterances else "",
            _shown(f"{first.check}: {first.message}"),
            _shown(first.expected or ""),
        )
    sink = io.StringIO()
    Console(file=sink, width=_width(), highlight=False, markup=False, emoji=False).print(table)
    return "\n".join(line.rstrip() for line in sink.getvalue().rstrip().splitlines())


def _records(group: Sequence[Finding]) -> str:
    """`2, 5, 6 … 40 in all`."""
    indices = [str(one.index) for one in group if one.index is not None]
    count = len(indices) + group[-1].omitted
    shown = ", ".join(itertools.islice(indices, SHOWN_RECORDS))
    return f"{shown} … {count} in all" if count > SHOWN_RECORDS else shown


def _shown(text: str) -> str:
    """As much as helps to see what it is: the report has all of it."""
    text = _SUM.sub(r"\1…", text)
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"


def _width() -> int:
    return max(shutil.get_terminal_size((PIPED_WIDTH, 0)).columns, MIN_WIDTH)
