"""Results of the learn check: measurements, their bounds, and a table of both."""

from __future__ import annotations

from typing import Literal, NamedTuple

from rich.table import Table


class Measurement(NamedTuple):
    """A measurement of a group of sentences; without a bound it is only shown."""

    group: str
    measure: str
    got: float
    sign: Literal["≥", "≤", ""] = ""
    bound: float | None = None
    unit: str = "%"  # of `got` and `bound`, which are fractions where it is %

    @property
    def verdict(self) -> Literal["met", "missed", ""]:
        """Whether the bound is met; NaN misses it."""
        if self.bound is None:
            return ""
        return "met" if (self.got >= self.bound if self.sign == "≥" else self.got <= self.bound) else "missed"


def as_document(lines: list[Measurement], *, step: int) -> dict[str, object]:
    """The content of learn_check.json."""
    return {
        "step": step,
        "passed": all(line.verdict != "missed" for line in lines),
        "measures": [{**line._asdict(), "verdict": line.verdict} for line in lines],
    }


def results_table(lines: list[Measurement], *, title: str) -> Table:
    """The measurements for the terminal."""
    shown = Table("sentences", "measure", "expected", "measured", "result", title=title, title_justify="left")
    for line in lines:
        wanted = "" if line.bound is None else f"{line.sign} {_with_unit(line.bound, unit=line.unit)}"
        shown.add_row(line.group, line.measure, wanted, _with_unit(line.got, unit=line.unit), line.verdict)
    return shown


def _with_unit(value: float, *, unit: str) -> str:
    return f"{value:.1%}" if unit == "%" else f"{value:.2f} {unit}"
