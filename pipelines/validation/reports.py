"""Writes the reports of validation, DATA/validation/<time>.json."""

from __future__ import annotations

from pipelines.validation.findings import ValidationReport
from shared.files import write_json
from shared.layout import Layout
from shared.storage_path import StoragePath

# Older reports are removed; keep a copy elsewhere if you need them.
KEPT_REPORTS = 100


def report_path(layout: Layout, report: ValidationReport) -> StoragePath:
    """The path of a report."""
    return layout.validation / f"{report.finished.replace(':', '-')}.json"


def write_report(layout: Layout, report: ValidationReport) -> None:
    """Write a report, and remove all but the newest reports."""
    write_json(report_path(layout, report), report)
    reports = sorted(layout.validation.glob("*.json"))
    for path in reports[:-KEPT_REPORTS]:
        path.unlink(missing_ok=True)
