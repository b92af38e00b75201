"""The reports of validation: DATA/validation/<time>.json."""

from __future__ import annotations

from pipelines.validation.findings import ValidationReport
from shared.files import write_json
from shared.layout import Layout
from shared.storage_path import StoragePath

# Older ones go: a report that is expected for longer has to be put elsewhere.
KEPT_REPORTS = 100


def report_path(layout: Layout, report: ValidationReport) -> StoragePath:
    """Where the report of this run lies."""
    return layout.validation / f"{report.finished.replace(':', '-')}.json"


def write_report(layout: Layout, report: ValidationReport) -> None:
    """Write it, and remove all but the newest."""
    write_json(report_path(layout, report), report)
    reports = sorted(layout.validation.glob("*.json"))
    for path in reports[:-KEPT_REPORTS]:
        path.unlink(missing_ok=True)
