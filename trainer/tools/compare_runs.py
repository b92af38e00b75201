"""Two runs side by side: their curves on one HTML page, the settings that differ, and a short table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table

from shared.errors import writing
from shared.files import write_bytes
from trainer.monitoring.chart_specs import LEARNING, OPTIMIZATION, VOCODER_LEARNING, speed_charts, synthesis_charts
from trainer.monitoring.html_report import headline, load_template
from trainer.monitoring.line_charts import Chart, ChartSpec, draw_lines, format_number, read_series
from trainer.monitoring.run_files import Row, RunFiles, flatten, is_number, read_run_files


class Difference(NamedTuple):
    """A setting, or a field of the dataset's contract, with another value in each run."""

    key: str
    values: tuple[str, str]


class RunComparison(NamedTuple):
    """Two runs, their names, and what differs in their settings."""

    runs: tuple[RunFiles, RunFiles]
    names: tuple[str, str]
    differences: list[Difference]


def compare_runs(first: Path, second: Path) -> RunComparison:
    """Read two runs and compare their settings.

    Raises:
        UserError: one of the folders holds no run.
    """
    runs = read_run_files(first), read_run_files(second)
    names = runs[0].name, runs[1].name
    if names[0] == names[1]:
        names = str(first), str(second)
    return RunComparison(runs, names, list(_differences(*map(_fields, runs))))


def write_comparison(comparison: RunComparison, *, path: Path) -> None:
    """Write the page.

    Raises:
        UserError: the file cannot be written.
    """
    with writing(path, advice="expected an HTML file in a folder"):
        write_bytes(path, render_comparison(comparison).encode())


def render_comparison(comparison: RunComparison) -> str:
    """The page as HTML that refers to no other file."""
    runs = comparison.runs
    rows = [row for run in runs for row in run.rows]
    sections = {
        "Learning": _learning_charts(rows),
        "Optimization": OPTIMIZATION,
        "Speed and memory": speed_charts(rows),
    }
    return load_template("compare_runs.html.j2").render(
        names=comparison.names,
        roots=[str(run.root.absolute()) for run in runs],
        headlines=[headline(run) for run in runs],
        results=list(_results(comparison)),
        differences=comparison.differences,
        sections={
            title: [chart for spec in specs for chart in _overlaid(spec, comparison=comparison)]
            for title, specs in sections.items()
        },
    )


def _learning_charts(rows: list[Row]) -> list[ChartSpec]:
    is_of_vocoders = any("mel_distance_db" in row for row in rows)
    return [*(VOCODER_LEARNING if is_of_vocoders else LEARNING), *synthesis_charts(rows)]


def comparison_table(comparison: RunComparison) -> Table:
    """The results of both runs for the terminal."""
    table = Table("", *comparison.names, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in table.columns[1:]:
        column.justify = "right"
    for name, values in _results(comparison):
        table.add_row(name, *values)
    return table


def _results(comparison: RunComparison) -> Iterator[tuple[str, tuple[str, str]]]:
    """Name and formatted values of the results that at least one of the runs has."""
    results = [_results_of(run) for run in comparison.runs]
    for name in results[0]:
        values = results[0][name], results[1][name]
        if values != ("–", "–"):
            yield name, values


def _results_of(run: RunFiles) -> dict[str, str]:
    best, train, validation = run.best_validation, run.last("train"), run.last("validation")
    figures = run.summary.get("figures") or {}
    return {
        "step": f"{max((row['step'] for row in run.rows), default=0):,}",
        "best validation loss": _number(best, "loss"),
        "  at step": f"{best['step']:,}" if best else "–",
        "last validation loss": _number(validation, "loss"),
        "last training loss": _number(train, "loss"),
        "copy synthesis: mel distance, dB": _number(validation, "mel_distance_db"),
        "synthesis: mel distance, dB": _number(validation, "free_mel_distance_db"),
        "synthesis: error of the length, %": _number(validation, "free_length_error", factor=100),
        "synthesis: clips that ended, %": _number(validation, "free_ended", factor=100),
        "frames per second": _number(figures, "frames_per_second"),
        "input stall, %": _number(figures, "stall", factor=100),
    }


def _number(row: Row, key: str, *, factor: float = 1.0) -> str:
    value = row.get(key)
    return format_number(factor * value) if is_number(value) else "–"


def _overlaid(spec: ChartSpec, *, comparison: RunComparison) -> Iterator[Chart]:
    """One chart for each metric of a spec, with a line of each run."""
    for name, kind, key in spec.metrics:
        series = {
            label: read_series(run.rows, kind=kind, key=key, factor=spec.factor)
            for label, run in zip(comparison.names, comparison.runs, strict=True)
        }
        note = spec.note if len(spec.metrics) == 1 else name
        best_steps = {color: run.best_step for color, run in enumerate(comparison.runs)}
        chart = draw_lines(spec._replace(note=note), series=series, best_steps=best_steps)
        if chart is not None:
            yield chart


def _fields(run: RunFiles) -> dict[str, Any]:
    """Settings, fields of the contract and the dataset by dotted key."""
    contract, dataset = run.description.get("contract") or {}, run.summary.get("data")
    vocabulary = run.description.get("vocabulary_sha256")
    return {**run.settings, **flatten({"contract": contract, "vocabulary_sha256": vocabulary, "dataset": dataset})}


def _differences(first: dict[str, Any], second: dict[str, Any]) -> Iterator[Difference]:
    for key in sorted(first | second):
        values = tuple("–" if fields.get(key) is None else str(fields[key]) for fields in (first, second))
        if values[0] != values[1]:
            yield Difference(key, (values[0], values[1]))
