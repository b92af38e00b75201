"""Quality checks of utterances: one table of bounds on the manifest's columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from preprocess.check_config import CheckConfig
from preprocess.utterance import Reason

Columns = Mapping[str, np.ndarray]


class Bound(NamedTuple):
    """A threshold on one column."""

    reason: Reason
    column: str
    threshold: str  # a field of CheckConfig: `min_…` is a lower bound, others are upper bounds
    unit: str

    def failing(self, columns: Columns, *, threshold: float) -> np.ndarray:
        """True for the rows outside the bound, [N] bool."""
        values = columns[self.column]
        return values < threshold if self.threshold.startswith("min_") else values > threshold

    def message(self, value: float, *, threshold: float) -> str:
        side = "at least" if self.threshold.startswith("min_") else "at most"
        return f"{self.column} {value:.4g}{self.unit}, {side} {threshold:.4g} ({self.threshold})"


BOUNDS = (
    Bound(Reason.TOO_SHORT, "duration_s", "min_duration_s", " s"),
    Bound(Reason.TOO_LONG, "duration_s", "max_duration_s", " s"),
    Bound(Reason.TOO_MANY_FRAMES, "frames", "max_frames", ""),
    Bound(Reason.TOO_MANY_TOKENS, "tokens", "max_tokens", ""),
    Bound(Reason.TOO_MANY_UNKNOWNS, "unknown_fraction", "max_unknown_fraction", ""),
    Bound(Reason.UNREAD_NUMBERS, "unread_numbers", "max_unread_numbers", ""),
    Bound(Reason.TOO_QUIET, "rms_db", "min_rms_db", " dB"),
    Bound(Reason.TOO_LOUD, "peak", "max_peak", ""),
    Bound(Reason.CLIPPED, "clipped_fraction", "max_clipped_fraction", ""),
    Bound(Reason.DC_OFFSET, "dc_offset", "max_dc_offset", ""),
    Bound(Reason.SILENCE, "silence_fraction", "max_silence_fraction", ""),
    Bound(Reason.NOISY, "snr_db", "min_snr_db", " dB"),
    Bound(Reason.NARROW_BAND, "bandwidth_hz", "min_bandwidth_hz", " Hz"),
)

# Bounds on comparisons with the other utterances of the corpus, applied after the table above and in this order.
DUPLICATE_BOUND = Bound(Reason.DUPLICATE_AUDIO, "duplicate_bits", "min_duplicate_bits", " bits")
REPEAT_BOUND = Bound(Reason.REPEATED_TEXT, "text_repeats", "max_text_repeats", "")
ALL_BOUNDS = (*BOUNDS, DUPLICATE_BOUND, REPEAT_BOUND)


def unknown_fraction(columns: Columns) -> np.ndarray:
    """The share of <unk> among the pieces between the language token and `</s>`, [N] float64."""
    return columns["unknown_tokens"] / np.maximum(columns["tokens"] - 2, 1)


def failures(
    columns: Columns, *, checks: CheckConfig, bounds: tuple[Bound, ...] = BOUNDS
) -> Iterator[tuple[int, Reason, str]]:
    """Yield (row, reason, message) for every failed check, ordered by check."""
    for bound in bounds:
        threshold = getattr(checks, bound.threshold)
        if threshold is not None:
            for row in np.flatnonzero(bound.failing(columns, threshold=threshold)).tolist():
                value = float(columns[bound.column][row])
                yield row, bound.reason, bound.message(value, threshold=threshold)
