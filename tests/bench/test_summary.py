"""The last table of `make bench` has a row for each figure, with its floor, bound, command and the machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.bench.summary import FILE, add_row, machine, read_rows, summary_table


def test_rows_of_several_benchmarks_become_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = tmp_path / "rows.jsonl"
    monkeypatch.setenv(FILE, str(rows))
    add_row("memory", "peak memory", measured="1.02", floor="a small corpus", bound="≤ 1.15", met=True)
    add_row("step", "compiled step", measured="1.38", floor="the graph", bound="≥ 2", met=False)
    add_row("shapes", "a step", measured="0.1 s")
    table = summary_table(read_rows(rows))
    assert table.startswith(machine())
    assert table.splitlines()[4:] == [
        "| peak memory | 1.02 | a small corpus | ≤ 1.15 | yes | `make bench BENCHES=memory` |",
        "| compiled step | 1.38 | the graph | ≥ 2 | **no** | `make bench BENCHES=step` |",
        "| a step | 0.1 s |  |  |  | `make bench BENCHES=shapes` |",
    ]


def test_a_benchmark_that_runs_alone_adds_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FILE, raising=False)
    monkeypatch.chdir(tmp_path)
    add_row("memory", "peak memory", measured="1.02")
    assert list(tmp_path.iterdir()) == []


def test_every_benchmark_of_the_makefile_adds_rows() -> None:
    benches = next(
        line for line in Path("Makefile").read_text(encoding="utf-8").splitlines() if line.startswith("BENCHES")
    )
    for name in benches.partition("?=")[2].split():
        assert re.search(rf'add_row\(\s*"{name}"', Path(f"tests/bench/{name}.py").read_text(encoding="utf-8")), name
