"""The histograms of the report: one per measured column, and the speaking rates of each language on a common axis."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pipelines.html.axes import choose_bins
from pipelines.report.histograms import AllowedRange, Histogram, draw_histogram, thresholds_of
from pipelines.tables.columns import DatasetRows
from shared.dataset import DatasetInfo, SelectionCriteria

SHOWN_LANGUAGES = 9
SHOWN_RANGES = 4
RATE = "characters_per_second"


class HistogramSpec(NamedTuple):
    """A column of the manifest that is drawn."""

    column: str
    title: str
    unit: str
    integers: bool = False


HISTOGRAMS = (
    HistogramSpec("duration_s", "Duration", "s"),
    HistogramSpec("tokens", "Tokens", "tokens", integers=True),
    HistogramSpec(RATE, "Speaking rate", "characters/s"),
    HistogramSpec("snr_db", "Signal-to-noise ratio (SNR)", "dB"),
    HistogramSpec("rms_db", "Level (RMS)", "dBFS"),
    HistogramSpec("bandwidth_hz", "Bandwidth", "Hz"),
)


def histograms(info: DatasetInfo, *, kept: DatasetRows, filtered: DatasetRows) -> list[Histogram]:
    """One histogram per column, over kept and filtered records."""
    return [_histogram(spec, selection=info.selection, kept=kept, filtered=filtered) for spec in HISTOGRAMS]


def _histogram(
    spec: HistogramSpec, *, selection: SelectionCriteria, kept: DatasetRows, filtered: DatasetRows
) -> Histogram:
    values = kept.numbers(spec.column), filtered.numbers(spec.column)
    thresholds = thresholds_of(spec.column, checks=selection.checks)
    limits = [threshold.value for threshold in thresholds]
    bins = choose_bins(np.concatenate(values), limits=limits, integers=spec.integers)
    title, unit, column = spec.title, spec.unit, spec.column
    return draw_histogram(*values, bins=bins, title=title, unit=unit, column=column, thresholds=thresholds)


def rates_by_language(
    info: DatasetInfo, *, kept: DatasetRows, filtered: DatasetRows, codes: list[str]
) -> list[Histogram]:
    """Speaking rates of the first languages of `codes` on one axis, with the allowed range of each source."""
    allowed = info.selection.characters_per_second
    shown = codes[:SHOWN_LANGUAGES]
    values = {code: (rates_of(code, rows=kept), rates_of(code, rows=filtered)) for code in shown}
    ends = [end for ranges in allowed.values() for code in shown if code in ranges for end in ranges[code]]
    every = np.concatenate([part for pair in values.values() for part in pair] or [np.zeros(0)])
    bins = choose_bins(every, limits=ends)
    return [
        draw_histogram(
            *pair,
            bins=bins,
            title=code,
            unit="characters/s",
            column=RATE,
            ranges=allowed_ranges(code, allowed=allowed)[:SHOWN_RANGES],
        )
        for code, pair in values.items()
    ]


def rates_of(code: str, *, rows: DatasetRows) -> np.ndarray:
    """Characters per second of the records in one language, [N]."""
    codes, names = rows.codes("language")
    return rows.numbers(RATE)[codes == names.index(code)] if code in names else np.zeros(0)


def allowed_ranges(code: str, *, allowed: dict[str, dict[str, tuple[float, float]]]) -> list[AllowedRange]:
    """The range of speaking rates that each source allows in this language."""
    return [AllowedRange(source, *ranges[code]) for source, ranges in sorted(allowed.items()) if code in ranges]
