"""The totals of a dataset: by source, split, language and speaker."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.tables.columns import DatasetRows
from shared.dataset import DatasetInfo, SourceInfo
from shared.layout import SPLITS, TRAINING_SPLITS

SHOWN_SPEAKERS = 40


class SourceTotals(NamedTuple):
    """One source; `read = written + filtered + failed`."""

    name: str
    reader: str
    read: int
    written: int
    filtered: int
    failed: int
    seconds: float
    bytes: int
    shards: int
    weight: float


class SplitTotals(NamedTuple):
    name: str
    records: int
    seconds: float
    speakers: int
    languages: int


class LanguageTotals(NamedTuple):
    code: str
    records: int
    seconds: float
    train_s: float
    validation_s: float
    test_s: float
    speakers: int
    rejected: int
    characters_per_second: float  # the median
    snr_db: float  # the median


class SpeakerTotals(NamedTuple):
    name: str
    languages: list[str]
    records: int
    seconds: float


class SpeakerRanking(NamedTuple):
    """The speakers with most speech, and the sum of the others."""

    shown: list[SpeakerTotals]
    others: int
    others_records: int
    others_s: float
    median_s: float


def source_totals(info: DatasetInfo, *, kept: DatasetRows) -> list[SourceTotals]:
    """One row per source, in alphabetical order."""
    seconds = sums(kept.table, "source")
    return [_source(name, info.sources[name], seconds=seconds.get((name,), 0.0)) for name in sorted(info.sources)]


def _source(name: str, source: SourceInfo, *, seconds: float) -> SourceTotals:
    filtered = sum(shard.withheld for shard in source.shards)
    return SourceTotals(
        name=name,
        reader=source.reader,
        read=source.read,
        written=source.written,
        filtered=filtered,
        failed=source.rejected - filtered,
        seconds=seconds,
        bytes=sum(shard.bytes for shard in source.shards),
        shards=len(source.shards),
        weight=source.weight,
    )


def split_totals(kept: DatasetRows) -> list[SplitTotals]:
    """Training, validation, and test if it has a record."""
    totals = [_split(name, kept.table.filter(pc.equal(kept.table["split"], name))) for name in SPLITS]
    return [one for one in totals if one.records or one.name in TRAINING_SPLITS]


def _split(name: str, table: pa.Table) -> SplitTotals:
    return SplitTotals(
        name=name,
        records=len(table),
        seconds=total(table["duration_s"]),
        speakers=pc.count_distinct(table["speaker"]).as_py(),
        languages=pc.count_distinct(table["language"]).as_py(),
    )


def language_totals(kept: DatasetRows, *, rejected: DatasetRows) -> list[LanguageTotals]:
    """One row per language, the one with most speech first; languages without a kept record come last."""
    by_split = sums(kept.table, "language", "split")
    rejected_by_code = dict(zip(*_value_counts(rejected.table["language"]), strict=True))
    codes, names = kept.codes("language")
    facts = []
    for number, code in enumerate(names):
        rows = np.flatnonzero(codes == number)
        spoken = {split: by_split.get((code, split), 0.0) for split in SPLITS}
        facts.append(
            LanguageTotals(
                code=code,
                records=len(rows),
                seconds=sum(spoken.values()),
                train_s=spoken["train"],
                validation_s=spoken["validation"],
                test_s=spoken["test"],
                speakers=pc.count_distinct(kept.table["speaker"].take(rows)).as_py(),
                rejected=rejected_by_code.pop(code, 0),
                characters_per_second=float(np.median(kept.numbers("characters_per_second")[rows])),
                snr_db=float(np.median(kept.numbers("snr_db")[rows])),
            )
        )
    nan = float("nan")
    facts += [
        LanguageTotals(code, 0, 0.0, 0.0, 0.0, 0.0, 0, count, nan, nan) for code, count in rejected_by_code.items()
    ]
    return sorted(facts, key=lambda row: (-row.seconds, -row.rejected, row.code))


def speaker_totals(kept: DatasetRows) -> SpeakerRanking:
    """The speakers with most speech."""
    grouped = kept.table.group_by("speaker", use_threads=False).aggregate(
        [("duration_s", "sum"), ("duration_s", "count"), ("language", "distinct")]
    )
    ordered = grouped.sort_by([("duration_s_sum", "descending"), ("speaker", "ascending")])
    first, rest = ordered.slice(0, SHOWN_SPEAKERS), ordered.slice(SHOWN_SPEAKERS)
    return SpeakerRanking(
        shown=[
            SpeakerTotals(
                row["speaker"], sorted(row["language_distinct"]), row["duration_s_count"], row["duration_s_sum"]
            )
            for row in first.to_pylist()
        ],
        others=len(rest),
        others_records=int(total(rest["duration_s_count"])),
        others_s=total(rest["duration_s_sum"]),
        median_s=float(np.median(ordered["duration_s_sum"].to_numpy())) if len(ordered) else 0.0,
    )


def sums(table: pa.Table, *keys: str) -> dict[tuple[str, ...], float]:
    """Seconds of speech by the values of these columns; equal rows give bitwise equal sums."""
    grouped = table.group_by(list(keys), use_threads=False).aggregate([("duration_s", "sum")]).to_pylist()
    return {tuple(row[key] for key in keys): row["duration_s_sum"] for row in grouped}


def total(column: pa.ChunkedArray) -> float:
    """The sum of a column; zero if it is empty."""
    return float(pc.sum(column, min_count=0).as_py() or 0)


def _value_counts(column: pa.ChunkedArray) -> tuple[list[str], list[int]]:
    counted = pc.value_counts(column)
    return counted.field("values").to_pylist(), counted.field("counts").to_pylist()
