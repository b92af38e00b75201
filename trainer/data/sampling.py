"""How often each record is heard: languages, sources and speakers evened out by temperatures.

With temperature T the probability of a group of n records goes from n / N to n^(1/T) / Σ n^(1/T): 1 leaves all as it
is, a large one gives every group the same share. Groups lie one within another, and each temperature evens out those
of one parent: languages; the sources of a language; the speakers of a source in a language. So

    p(record) = p(language) · p(source | language) · p(speaker | source, language) / records of that speaker there

and a language that is one source gets its share once. This times the source's weight in the dataset is what a record
is heard, scaled so that an epoch stays as long as the weights alone make it. Nothing is heard more than `max_repeats`
times in an epoch, unless its source's weight says so; what is cut off there goes to the others in proportion.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trainer.config.data_config import SamplingConfig
from trainer.data.manifest_rows import Column, Rows


class Portion(NamedTuple):
    """A language, a source or a speaker, and what an epoch hears of it."""

    name: str
    records: int
    stored: float  # its share of the records
    heard: float  # its share of an epoch
    repeats: float  # times that an epoch hears one of its records, on average
    epoch_records: float
    epoch_hours: float


def mixed_rates(rows: Rows, *, weights: dict[str, float], kept: np.ndarray, config: SamplingConfig) -> np.ndarray:
    """Times that an epoch hears each row, [rows] float32; 0 for those that are not kept.

    Args:
        weights: of each source, from `dataset.json`.
        kept: which rows take part, [rows] bool.
    """
    rates = np.zeros(len(rows.frames), np.float32)
    base = np.array([weights[name] for name in rows.source.names])[rows.source.codes[kept]]
    factors, parents = np.ones(len(base)), np.zeros(len(base), np.int64)
    for column, temperature in (
        (rows.language, config.language_temperature),
        (rows.source, config.source_temperature),
        (rows.speaker, config.speaker_temperature),
    ):
        groups = _within(parents, column.codes[kept])
        if temperature > 1:
            factors *= _evened(groups, parents=parents, temperature=temperature)
        parents = groups
    if not (factors == 1).all():
        base = _scaled(base * factors, total=base.sum(), limits=np.maximum(base, config.max_repeats))
    rates[kept] = base
    return rates


def _within(parents: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """A number for each pair of a parent and a value that occurs, [R] int64."""
    return np.unique(parents * (codes.max(initial=0) + 1) + codes, return_inverse=True)[1]


def _evened(groups: np.ndarray, *, parents: np.ndarray, temperature: float) -> np.ndarray:
    """What a temperature multiplies the rate of each record by, given its group and that one's parent, [R]."""
    records = np.bincount(groups)
    powers = records ** (1 / temperature)
    parent = np.zeros(len(records), np.int64)
    parent[groups] = parents
    total, of_records = (np.bincount(parent, values) for values in (powers, records))
    return ((powers / total[parent]) / (records / of_records[parent]))[groups]


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


def portions(rows: Rows, column: Column, *, rates: np.ndarray) -> list[Portion]:
    """What an epoch hears of each value of a column, the largest first."""
    size = len(column.names)
    records, heard = (np.bincount(column.codes, values, size) for values in (None, rates))
    hours = np.bincount(column.codes, rates * rows.duration_s, size) / 3600
    figures = records, records / records.sum(), heard / heard.sum(), heard / records, heard, hours
    table = [Portion(*row) for row in zip(column.names, *(one.tolist() for one in figures), strict=True)]
    return sorted(table, key=lambda portion: -portion.records)
