"""Sums the totals of all shards with a Beam CombineFn, and compares them with dataset.json.

All sums are integers, so the order in which a runner merges them makes no difference.
"""

from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping

import apache_beam as beam
import numpy as np

from pipelines.validation.findings import Finding, ShardVerdict
from shared.dataset import DatasetInfo, LanguageInfo, SpeakerInfo, mel_statistics
from shared.hashing import speaker_id
from shared.languages import CODES, language_id
from shared.layout import ShardName

STATISTICS_TOLERANCE = 1e-6

# Unit of the integer sums. Sums of float16 are multiples of 2^-24; for squares the rounding is far below the tolerance.
UNITS = 1 << 32


@dataclasses.dataclass
class Totals:
    """Totals over some of the shards."""

    shards: int = 0
    trusted: int = 0
    damaged: int = 0
    records: int = 0
    languages: collections.Counter[tuple[str, str]] = dataclasses.field(default_factory=collections.Counter)
    speakers: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    frames: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)  # by split
    sums: dict[str, list[int]] = dataclasses.field(default_factory=dict)  # by split, per band, in UNITS
    squares: dict[str, list[int]] = dataclasses.field(default_factory=dict)

    def add(self, verdict: ShardVerdict) -> None:
        shard_name, sums = ShardName.parse(verdict.shard_name), verdict.sums
        self.shards += 1
        self.trusted += verdict.trusted
        self.damaged += verdict.damaged
        self.records += sums.records
        self.speakers.update(sums.records_by_speaker)
        self.languages.update({(shard_name.source, code): count for code, count in sums.records_by_language.items()})
        self.frames[shard_name.split] += sums.frames
        _add(self.sums, {shard_name.split: _units(sums.mel_sums)})
        _add(self.squares, {shard_name.split: _units(sums.mel_squares)})

    def merge(self, other: Totals) -> None:
        self.shards += other.shards
        self.trusted += other.trusted
        self.damaged += other.damaged
        self.records += other.records
        for name in ("languages", "speakers", "frames"):
            getattr(self, name).update(getattr(other, name))
        _add(self.sums, other.sums)
        _add(self.squares, other.squares)


def _units(values: list[float]) -> list[int]:
    return [round(value * UNITS) for value in values]


def _add(total: dict[str, list[int]], more: dict[str, list[int]]) -> None:
    for split, values in more.items():
        held = total.get(split, [0] * len(values))
        total[split] = [ours + theirs for ours, theirs in zip(held, values, strict=True)]


class SumTotals(beam.CombineFn):
    """CombineFn: ShardVerdict -> Totals."""

    def create_accumulator(self) -> Totals:
        return Totals()

    def add_input(self, mutable_accumulator: Totals, element: ShardVerdict) -> Totals:
        mutable_accumulator.add(element)
        return mutable_accumulator

    def merge_accumulators(self, accumulators: Iterable[Totals]) -> Totals:
        total = Totals()
        for one in accumulators:
            total.merge(one)
        return total

    def extract_output(self, accumulator: Totals) -> Totals:
        return accumulator


def check_totals(totals: Totals, *, info: DatasetInfo, file: str) -> Iterator[Finding]:
    """Findings about totals, tables and statistics in dataset.json that contradict the shards.

    If a shard is damaged, only checks that need no record are made.
    """
    yield from _ids(info, file=file)
    yield from _counts_of_sources(info, file=file)
    if not totals.damaged:
        languages = collections.Counter[str]()
        for (_, code), count in totals.languages.items():
            languages[code] += count
        yield from _counts("languages", languages, info.languages, file=file)
        yield from _counts("speakers", totals.speakers, info.speakers, file=file)
        yield from _languages_of_sources(totals, info=info, file=file)
        yield from _statistics(totals, info=info, file=file)


def _ids(info: DatasetInfo, *, file: str) -> Iterator[Finding]:
    """Languages and speakers whose ids do not follow from their names."""
    language_ids = {code: language_id(code) for code in info.languages if code in CODES}
    speaker_ids = {name: speaker_id(name) for name in info.speakers}
    tables: tuple[tuple[str, Mapping[str, LanguageInfo | SpeakerInfo], dict[str, int]], ...] = (
        ("languages", info.languages, language_ids),
        ("speakers", info.speakers, speaker_ids),
    )
    for check, stated, ids in tables:
        for name, number in ids.items():
            if (wrong := stated[name].id) != number:
                yield Finding(file=file, check=check, message=f"{name} has id {wrong}", expected=str(number))


def _counts(
    check: str, found: collections.Counter[str], stated: Mapping[str, LanguageInfo | SpeakerInfo], *, file: str
) -> Iterator[Finding]:
    for name in sorted(found.keys() | stated.keys()):
        stated_count = stated[name].records if name in stated else 0
        if stated_count != found[name]:
            yield Finding(
                file=file,
                check=check,
                message=f"it states {stated_count} records of {name}",
                expected=str(found[name]),
            )


def _languages_of_sources(totals: Totals, *, info: DatasetInfo, file: str) -> Iterator[Finding]:
    """Sources whose listed languages are not those of their records."""
    for name, source in info.sources.items():
        found_languages = sorted(
            code for (source_of, code), count in totals.languages.items() if source_of == name and count
        )
        if found_languages != sorted(source.languages):
            message = f"it states that {name} holds {', '.join(source.languages)}"
            yield Finding(file=file, check="languages", message=message, expected=", ".join(found_languages))


def _counts_of_sources(info: DatasetInfo, *, file: str) -> Iterator[Finding]:
    """Sources whose counts are not the sums over their shards, and shards listed under another source or split."""
    for name, source in info.sources.items():
        for shard in source.shards:
            shard_name = ShardName.parse(shard.name)
            if (name, shard.split) != (shard_name.source, shard_name.split):
                message = f"it states that {shard.name} is of {name}, {shard.split}"
                yield Finding(
                    file=file, check="shards", message=message, expected=f"{shard_name.source}, {shard_name.split}"
                )
        shards = source.shards
        sums = [sum(shard.records for shard in shards), sum(shard.rejected for shard in shards)]
        if [source.written, source.rejected, source.read] != [*sums, sum(sums)]:
            message = f"it states for {name}: read {source.read}, written {source.written}, rejected {source.rejected}"
            expected = f"{sum(sums)} = {sums[0]} + {sums[1]}, the sums of its shards"
            yield Finding(file=file, check="totals", message=message, expected=expected)


def _statistics(totals: Totals, *, info: DatasetInfo, file: str) -> Iterator[Finding]:
    """Mel statistics that differ from those of the training split, or of all shards if there is no training split."""
    none = [0] * info.contract.features.n_mels
    splits = ["train"] if any(shard.split == "train" for shard in info.shards) else list(totals.frames)
    found = mel_statistics(
        frames=sum(totals.frames[split] for split in splits),
        sums=_bands(totals.sums.get(split, none) for split in splits),
        squares=_bands(totals.squares.get(split, none) for split in splits),
    )
    for name in ("mean", "std"):
        ours, stated = getattr(found, name), getattr(info.mel, name)
        if len(stated) != len(ours):
            message = f"mel {name} has {len(stated)} bands"
            yield Finding(file=file, check="statistics", message=message, expected=f"{len(ours)} bands")
        elif not np.allclose(stated, ours, rtol=0, atol=STATISTICS_TOLERANCE):
            band = max(range(len(ours)), key=lambda m: _distance(stated[m], ours[m]))
            message = f"it states that mel {name} of band {band} is {stated[band]:.7g}"
            yield Finding(file=file, check="statistics", message=message, expected=f"{ours[band]:.7g}")


def _distance(stated: float, found: float) -> float:
    return math.inf if math.isnan(stated) else abs(stated - found)


def _bands(splits: Iterable[list[int]]) -> np.ndarray:
    """Sums per band over the splits, [M] float64, converted from units."""
    return np.array([sum(values) / UNITS for values in zip(*splits, strict=True)], np.float64)
