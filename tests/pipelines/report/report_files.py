"""The tables of a dataset, and its report, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.report import write_report
from shared.dataset import Dataset
from shared.tables import MANIFEST, REJECTED, write_table
from tests.pipelines.html_pages import Page


def rows_of(data: Path, folder: str, *, source: str = "*") -> list[dict[str, Any]]:
    paths = sorted((data / folder).glob(f"{source}-*.parquet"))
    return [row for path in paths for row in pq.read_table(path).to_pylist()]


def rewrite(data: Path, folder: str, **values: Any) -> None:
    """Give every row of these tables the same value in some columns."""
    for path in (data / folder).glob("*.parquet"):
        rows = [row | values for row in pq.read_table(path).to_pylist()]
        write_table(path, pa.Table.from_pylist(rows, schema=REJECTED if folder == "rejected" else MANIFEST))


def report_of(data: Path) -> Page:
    return Page(write_report(Dataset.open(data)))


def levels_of(page: Page) -> dict[str, str]:
    """The level of each aspect of the assessment by its text."""
    return {" ".join(one.text.split()): str(one.attributes["data-aspect"]) for one in page.having("data-aspect")}
