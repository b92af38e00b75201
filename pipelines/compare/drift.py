"""Drift: measurements whose distribution differs between two datasets, found by two statistical tests.

Both tests are made for every measurement, over all records and over each source and language with enough records.

The two-sample Kolmogorov-Smirnov test compares all records, whatever their ids. Its statistic D is the largest distance
between the two cumulative distributions.

The sign test compares the utterances that both datasets have: did the measurement rise as often as it fell? It detects
a gain of 3 dB in a corpus whose levels differ by 20 dB, which D does not.

A drift is significant if chance does not explain it and if it is large enough to matter. The first means that p is
below `ALPHA` divided by the number of tests (Bonferroni), so that at most one in a thousand comparisons of equal
distributions raises an alarm. The second means that D is at least `MIN_D`, or that a median moved by at least the
`step` of the measurement.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import scipy.stats

from pipelines.tables.columns import DatasetRows, load_columns
from pipelines.tables.join import Pairs, pair_rows
from shared.dataset import Dataset

ALPHA = 1e-3
MIN_D = 0.1
MIN_RECORDS = 20  # on each side
MAX_GROUPS = 60  # the largest
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


class DriftMeasure(NamedTuple):
    """A column of the manifest whose distribution is compared."""

    column: str
    title: str
    unit: str
    step: float  # a median that moves by less does not matter
    is_relative: bool  # the step is a fraction of A's median
    integers: bool = False


DRIFT_MEASURES = (
    DriftMeasure("duration_s", "Duration", "s", 0.03, is_relative=True),
    DriftMeasure("rms_db", "Level (RMS)", "dB", 1.0, is_relative=False),
    DriftMeasure("tokens", "Tokens", "tokens", 0.03, is_relative=True, integers=True),
    DriftMeasure("characters_per_second", "Speaking rate", "characters/s", 0.03, is_relative=True),
    DriftMeasure("snr_db", "Signal-to-noise ratio (SNR)", "dB", 1.5, is_relative=False),
)
COLUMNS = ("utterance_id", "language", *(measure.column for measure in DRIFT_MEASURES))


class SharedChange(NamedTuple):
    """Change of a measurement over the utterances that both datasets have."""

    utterances: int
    changed: int
    median_change: float  # over all shared utterances, in the unit of the measurement
    p_value: float  # of the sign test


class Drift(NamedTuple):
    """One measurement of one group in both datasets."""

    measure: DriftMeasure
    source: str  # empty for all records
    language: str
    records: tuple[int, int]
    statistic: float  # Kolmogorov-Smirnov D
    p_value: float
    quantiles: tuple[tuple[float, ...], tuple[float, ...]]  # at QUANTILES
    shared: SharedChange | None
    is_significant: bool

    @property
    def group(self) -> str:
        return f"{self.source} {self.language}" if self.source else "all"

    @property
    def shifts(self) -> tuple[float, ...]:
        """Each quantile of B less that of A."""
        return tuple(after - before for before, after in zip(*self.quantiles, strict=True))

    @property
    def shift(self) -> float:
        """Median change of the shared utterances if most are shared, else the difference of the medians."""
        if self.shared is not None and 2 * self.shared.utterances >= max(self.records):
            return self.shared.median_change
        return self.shifts[QUANTILES.index(0.5)]


class KeptRecords(NamedTuple):
    """The kept records of both datasets."""

    a: DatasetRows
    b: DatasetRows
    pairs: Pairs

    def values(self, measure: DriftMeasure, group: Group) -> tuple[np.ndarray, np.ndarray]:
        """The values of a group in A and in B."""
        return self.a.numbers(measure.column)[group.a], self.b.numbers(measure.column)[group.b]

    def changes(self, measure: DriftMeasure, group: Group) -> np.ndarray:
        """B less A for each utterance that both datasets have in this group, [N]."""
        before, after = self.a.numbers(measure.column), self.b.numbers(measure.column)
        mine = group.a[self.pairs.a] & group.b[self.pairs.b]
        return (after[self.pairs.b[mine]] - before[self.pairs.a[mine]]).astype(np.float64)


class Group(NamedTuple):
    """A source's records in one language, as masks of the rows of A and B."""

    source: str
    language: str
    a: np.ndarray
    b: np.ndarray

    @property
    def records(self) -> tuple[int, int]:
        return int(np.count_nonzero(self.a)), int(np.count_nonzero(self.b))


def read_kept_records(a: Dataset, b: Dataset) -> KeptRecords:
    """Load columns of all manifests.

    Raises:
        UserError: a table cannot be read.
    """
    one, other = (
        load_columns((shard.name for shard in side.info.shards), path_of=side.layout.manifest, columns=COLUMNS)
        for side in (a, b)
    )
    ids = (rows.table["utterance_id"] for rows in (one, other))
    ranks = (np.zeros(len(rows.table), np.int8) for rows in (one, other))
    pairs = pair_rows(*ids, ranks_a=next(ranks), ranks_b=next(ranks))
    return KeptRecords(one, other, pairs)


def choose_groups(samples: KeptRecords) -> list[Group]:
    """All records, then each source and language with enough records on both sides if there are several."""
    (codes_a, codes_b), names = _group_codes(samples)
    whole = Group("", "", np.ones(len(codes_a), bool), np.ones(len(codes_b), bool))
    parts = [
        Group(*name, codes_a == code, codes_b == code)
        for code, name in sorted(enumerate(names), key=lambda item: item[1])
    ]
    large = [part for part in parts if min(part.records) >= MIN_RECORDS]
    largest = sorted(range(len(large)), key=lambda number: -min(large[number].records))[:MAX_GROUPS]
    return [whole, *(large[number] for number in sorted(largest))] if len(names) > 1 else [whole]


def _group_codes(samples: KeptRecords) -> tuple[list[np.ndarray], list[tuple[str, str]]]:
    """For A and B, the group number of each row; and the (source, language) of each group."""
    tables = [rows.table.select(["source", "language"]) for rows in (samples.a, samples.b)]
    keys = pa.concat_tables(tables).combine_chunks()
    sources, languages = (keys[name].combine_chunks().dictionary_encode() for name in ("source", "language"))
    count = max(len(languages.dictionary), 1)
    pairs, codes = np.unique(
        sources.indices.to_numpy().astype(np.int64) * count + languages.indices.to_numpy(), return_inverse=True
    )
    names = [(sources.dictionary[pair // count].as_py(), languages.dictionary[pair % count].as_py()) for pair in pairs]
    return np.split(codes, [len(tables[0])]), names


def find_drifts(samples: KeptRecords) -> list[Drift]:
    """Test every measurement of every group; none if a dataset has too few records."""
    groups = [group for group in choose_groups(samples) if min(group.records) >= MIN_RECORDS]
    alpha = ALPHA / max(1, 2 * len(groups) * len(DRIFT_MEASURES))
    return [_drift(samples, measure, group, alpha=alpha) for group in groups for measure in DRIFT_MEASURES]


def _drift(samples: KeptRecords, measure: DriftMeasure, group: Group, *, alpha: float) -> Drift:
    before, after = samples.values(measure, group)
    test = scipy.stats.ks_2samp(before, after, method="asymp")
    quantiles = (quantiles_of(before), quantiles_of(after))
    changes = samples.changes(measure, group)
    shared = _shared(changes) if len(changes) >= MIN_RECORDS else None
    middle = QUANTILES.index(0.5)
    step = measure.step * (abs(quantiles[0][middle]) if measure.is_relative else 1.0)
    shift = abs(quantiles[1][middle] - quantiles[0][middle])
    apart = test.pvalue < alpha and (test.statistic >= MIN_D or shift >= step)
    moved = shared is not None and shared.p_value < alpha and abs(shared.median_change) >= step
    return Drift(
        measure=measure,
        source=group.source,
        language=group.language,
        records=group.records,
        statistic=float(test.statistic),
        p_value=float(test.pvalue),
        quantiles=quantiles,
        shared=shared,
        is_significant=bool(apart or moved),
    )


def quantiles_of(values: np.ndarray) -> tuple[float, ...]:
    """The quantiles of `QUANTILES`."""
    return tuple(np.quantile(values, QUANTILES).tolist())


def _shared(changes: np.ndarray) -> SharedChange:
    risen, fallen = int(np.count_nonzero(changes > 0)), int(np.count_nonzero(changes < 0))
    p_value = scipy.stats.binomtest(risen, risen + fallen).pvalue if risen + fallen else 1.0
    return SharedChange(len(changes), risen + fallen, float(np.median(changes)), float(p_value))
