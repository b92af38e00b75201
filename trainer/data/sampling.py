"""Sampling rates of records: temperatures balance languages, sources and speakers.

With temperature T the probability of a group of n records changes from n / N to n^(1/T) / Σ n^(1/T): 1 changes
nothing, a large T gives every group the same share. Groups are nested, and each temperature balances the groups of one
parent: languages; the sources of a language; the speakers of a source in a language:

    p(record) = p(language) · p(source | language) · p(speaker | source, language) / records of that speaker there

A language with a single source therefore gets its share once. The sampling rate of a record is this probability times
the source's weight in the dataset, scaled so that an epoch stays as long as the weights alone make it. No record is
sampled more than `max_repeats` times in an epoch, unless its source's weight asks for it; the excess is given to the
other records in proportion.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trainer.config.data_config import SamplingConfig
from trainer.data.manifest_rows import Column, ManifestRows


class SamplingShare(NamedTuple):
    """A language, a source or a speaker: its share of the dataset, and of an epoch."""

    name: str
    records: int
    stored: float  # share of the records
    sampled: float  # share of an epoch's samples
    repeats: float  # mean number of times that an epoch samples one of its records
    epoch_records: float
    epoch_hours: float


def sampling_rates(
    rows: ManifestRows, *, weights: dict[str, float], kept: np.ndarray, config: SamplingConfig
) -> np.ndarray:
    """How often an epoch samples each row, [rows] float32; 0 for rows that are not kept.

    Args:
        weights: of each source, from `dataset.json`.
        kept: [rows] bool, rows that take part.
    """
    rates = np.zeros(len(rows.frames), np.float32)
    base = np.array([weights[name] for name in rows.source.names])[rows.source.codes[kept]]
    factors, parents = np.ones(len(base)), np.zeros(len(base), np.int64)
    for column, temperature in (
        (rows.language, config.language_temperature),
        (rows.source, config.source_temperature),
        (rows.speaker, config.speaker_temperature),
    ):
        groups = _subgroups(parents, column.codes[kept])
        if temperature > 1:
            factors *= _temperature_factors(groups, parents=parents, temperature=temperature)
        parents = groups
    if not (factors == 1).all():
        base = _scaled(base * factors, total=base.sum(), limits=np.maximum(base, config.max_repeats))
    rates[kept] = base
    return rates


def _subgroups(parents: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """A number for each pair of a parent and a value that occurs, [R] int64."""
    return np.unique(parents * (codes.max(initial=0) + 1) + codes, return_inverse=True)[1]


def _temperature_factors(groups: np.ndarray, *, parents: np.ndarray, temperature: float) -> np.ndarray:
    """The factor by which a temperature changes each record's rate, [R], given its group and the group's parent."""
    records = np.bincount(groups)
    powers = records ** (1 / temperature)
    parent = np.zeros(len(records), np.int64)
    parent[groups] = parents
    total, of_records = (np.bincount(parent, values) for values in (powers, records))
    return ((powers / total[parent]) / (records / of_records[parent]))[groups]


def _scaled(rates: np.ndarray, *, total: float, limits: np.ndarray) -> np.ndarray:
    """min(s · rates, limits) with the s for which the sum is `total`; the limits must sum to at least `total`.

    Records reach their limit in the order of limits / rates, so s is the first scale, in that order, at which no later
    record reaches its own limit.
    """
    order = np.argsort(limits / rates, kind="stable")
    cut = np.concatenate([[0.0], np.cumsum(limits[order])])[:-1]
    free = np.cumsum(rates[order][::-1])[::-1]
    scales = (total - cut) / free
    free_at = scales * rates[order] <= limits[order]
    free_at[-1] = True
    return np.minimum(rates * scales[np.argmax(free_at)], limits)


def sampling_shares(rows: ManifestRows, column: Column, *, rates: np.ndarray) -> list[SamplingShare]:
    """The share of each value of a column in an epoch, the value with the most records first."""
    size = len(column.names)
    records, sampled = (np.bincount(column.codes, values, size) for values in (None, rates))
    hours = np.bincount(column.codes, rates * rows.duration_s, size) / 3600
    figures = records, records / records.sum(), sampled / sampled.sum(), sampled / records, sampled, hours
    shares = [SamplingShare(*row) for row in zip(column.names, *(one.tolist() for one in figures), strict=True)]
    return sorted(shares, key=lambda share: -share.records)
