"""Which columns are drawn, and how the rates of speech are set side by side."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pipelines.html.axes import choose_bins
from pipelines.report.histograms import AllowedRange, Histogram, draw, thresholds_of
from pipelines.tables.columns import DatasetRows
from shared.dataset import DatasetInfo, SelectionCriteria

SHOWN_LANGUAGES = 9
SHOWN_BANDS = 4
RATE = "characters_per_second"


class Measure(NamedTuple):
    """A column of the manifest that is drawn."""

    column: str
    title: str
    unit: str
    integers: bool = False


MEASURES = (
    Measure("duration_s", "Duration", "s"),
    Measure("tokens", "Tokens", "tokens", integers=True),
    Measure(RATE, "Rate of speech", "characters/s"),
    Measure("snr_db", "Speech over noise (SNR)", "dB"),
    Measure("rms_db", "Level (RMS)", "dBFS"),
    Measure("bandwidth_hz", "Bandwidth", "Hz"),
)


def histograms(info: DatasetInfo, *, kept: DatasetRows, withheld: DatasetRows) -> list[Histogram]:
    """One for each measure, over all that was measured."""
    return [_histogram(measure, selection=info.selection, kept=kept, withheld=withheld) for measure in MEASURES]


def _histogram(
    measure: Measure, *, selection: SelectionCriteria, kept: DatasetRows, withheld: DatasetRows
) -> Histogram:
    ours, aside = kept.numbers(measure.column), withheld.numbers(measure.column)
    limits = thresholds_of(measure.column, checks=selection.checks)
    wanted = [limit.value for limit in limits]
    bins = choose_bins(np.concatenate([ours, aside]), limits=wanted, integers=measure.integers)
    title, unit, column = measure.title, measure.unit, measure.column
    return draw(ours, withheld=aside, bins=bins, title=title, unit=unit, column=column, limits=limits)


def rates_by_language(
    info: DatasetInfo, *, kept: DatasetRows, withheld: DatasetRows, codes: list[str]
) -> list[Histogram]:
    """Characters per second of each of the first languages on one axis, with the bands of their sources."""
    allowed = info.selection.characters_per_second
    shown = codes[:SHOWN_LANGUAGES]
    values = {code: (rates_of(code, rows=kept), rates_of(code, rows=withheld)) for code in shown}
    ends = [end for bands in allowed.values() for code in shown if code in bands for end in bands[code]]
    every = np.concatenate([part for pair in values.values() for part in pair] or [np.zeros(0)])
    bins = choose_bins(every, limits=ends)
    return [
        draw(
            ours,
            withheld=aside,
            bins=bins,
            title=code,
            unit="characters/s",
            column=RATE,
            bands=allowed_ranges(code, allowed=allowed)[:SHOWN_BANDS],
        )
        for code, (ours, aside) in values.items()
    ]


def rates_of(code: str, *, rows: DatasetRows) -> np.ndarray:
    """Characters per second of one language."""
    codes, names = rows.codes("language")
    return rows.numbers(RATE)[codes == names.index(code)] if code in names else np.zeros(0)


def allowed_ranges(code: str, *, allowed: dict[str, dict[str, tuple[float, float]]]) -> list[AllowedRange]:
    """What each source allows in this language."""
    return [AllowedRange(source, *bands[code]) for source, bands in sorted(allowed.items()) if code in bands]
