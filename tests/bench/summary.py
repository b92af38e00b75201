"""One table for all benchmarks of a `make bench`: each adds its rows to a file, and the table is printed at the end.

BENCH_SUMMARY=rows.jsonl python -m tests.bench.memory
python -m tests.bench.summary rows.jsonl
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from pathlib import Path
from typing import NamedTuple

HEADINGS = ("what", "measured", "floor", "bound", "met", "command")
FILE = "BENCH_SUMMARY"  # environment variable with the path of the rows


class SummaryRow(NamedTuple):
    """One figure beside what it is compared with."""

    what: str
    measured: str
    floor: str  # what the figure is relative to; "" for an absolute figure
    bound: str  # "" where nothing is required
    met: bool | None  # None without a bound
    command: str


def add_row(bench: str, what: str, *, measured: str, floor: str = "", bound: str = "", met: bool | None = None) -> None:
    """Add a row to the file that the environment names; a benchmark that runs alone adds none."""
    if path := os.environ.get(FILE):
        row = SummaryRow(what, measured, floor, bound, met, f"make bench BENCHES={bench}")
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def read_rows(path: Path) -> list[SummaryRow]:
    """The rows in the order in which they were added."""
    return [SummaryRow(*json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def summary_table(rows: list[SummaryRow]) -> str:
    """The rows as a Markdown table, under a line that names the machine."""
    verdicts = {True: "yes", False: "**no**", None: ""}
    lines = [f"| {' | '.join(HEADINGS)} |", f"|{'---|' * len(HEADINGS)}"]
    for row in rows:
        cells = (row.what, row.measured, row.floor, row.bound, verdicts[row.met], f"`{row.command}`")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([f"{machine()}:", "", *lines])


def machine() -> str:
    """Processor, cores, memory, system and Python of this machine."""
    information = Path("/proc/cpuinfo")
    text = information.read_text(encoding="utf-8") if information.exists() else ""
    model = re.search(r"model name\s*: (.+)", text)
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    name = model[1] if model else platform.machine()
    python = f"Python {platform.python_version()}"
    return f"{name}, {os.cpu_count()} cores, {memory_gib:.0f} GiB, {platform.system()}, {python}"


if __name__ == "__main__":
    print(f"\n{summary_table(read_rows(Path(sys.argv[1])))}")
