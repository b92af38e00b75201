"""How often each record is heard: languages, sources and speakers evened out by temperatures.

With temperature T the probability of a group of n records goes from n / N to n^(1/T) / Σ n^(1/T): 1 leaves all as it
is, a large one gives every group the same share. What a record is heard is the product of what its language, its
source and its speaker make of it, and of its source's weight in the dataset, scaled so that an epoch stays as long
as the weights alone make it. Nothing is heard more than `max_repeats` times in an epoch, unless its source's weight
says so; what is cut off there goes to the others in proportion.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pydantic

from shared.config import Config
from trainer.input.rows import Column, Rows


class MixingConfig(Config):
    """Temperatures of languages, sources and speakers; 1 leaves the shares as they are."""

    languages: float = pydantic.Field(1.0, ge=1)
    sources: float = pydantic.Field(1.0, ge=1)
    speakers: float = pydantic.Field(1.0, ge=1)
    max_repeats: float = pydantic.Field(8.0, ge=1)  # in an epoch


class Share(NamedTuple):
    """What an epoch hears of a language, a source or a speaker."""

    name: str
    records: int
    stored: float  # its share of the records
    heard: float  # its share of an epoch
    repeats: float  # times that an epoch hears one of its records, on average
    epoch_records: float
    epoch_hours: float


def mixed_rates(rows: Rows, *, weights: dict[str, float], kept: np.ndarray, config: MixingConfig) -> np.ndarray:
    """Times that an epoch hears each row, [rows] float32; 0 for those that are not kept.

    Args:
        weights: of each source, from `dataset.json`.
        kept: which rows take part, [rows] bool.
    """
    rates = np.zeros(len(rows.frames), np.float32)
    base = np.array([weights[name] for name in rows.source.names])[rows.source.codes[kept]]
    factors = np.ones(len(base))
    for column, temperature in (
        (rows.language, config.languages),
        (rows.source, config.sources),
        (rows.speaker, config.speakers),
    ):
        factors *= _evened(column.codes[kept], temperature=temperature)
    if not (factors == 1).all():
        base = _scaled(base * factors, total=base.sum(), limits=np.maximum(base, config.max_repeats))
    rates[kept] = base
    return rates


def _evened(codes: np.ndarray, *, temperature: float) -> np.ndarray:
    """What a temperature multiplies the rate of each record by, given its group, [R]."""
    records = np.bincount(codes).astype(np.float64)
    present = np.maximum(records, 1)
    powers = np.where(records > 0, present ** (1 / temperature), 0)
    return (powers / powers.sum() / (present / len(codes)))[codes] if temperature > 1 else np.ones(len(codes))


def _scaled(rates: np.ndarray, *, total: float, limits: np.ndarray) -> np.ndarray:
    """min(s · rates, limits) with s such that the sum is `total`, which the limits' sum is no less than.

    Those with the lowest limits / rates reach their limit first, so s is the first one, in that order, with which no
    later record reaches its own.
    """
    order = np.argsort(limits / rates, kind="stable")
    cut = np.concatenate([[0.0], np.cumsum(limits[order])])[:-1]
    free = np.cumsum(rates[order][::-1])[::-1]
    scales = (total - cut) / free
    free_at = scales * rates[order] <= limits[order]
    free_at[-1] = True
    return np.minimum(rates * scales[np.argmax(free_at)], limits)


def shares(rows: Rows, column: Column, *, rates: np.ndarray) -> list[Share]:
    """What an epoch hears of each value of a column, the largest first."""
    size = len(column.names)
    records, heard = (np.bincount(column.codes, values, size) for values in (None, rates))
    hours = np.bincount(column.codes, rates * rows.duration_s, size) / 3600
    figures = records, records / records.sum(), heard / heard.sum(), heard / records, heard, hours
    table = [Share(*row) for row in zip(column.names, *(one.tolist() for one in figures), strict=True)]
    return sorted(table, key=lambda share: -share.records)
