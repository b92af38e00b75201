"""`myxtts-data compare A B`: compare two datasets by utterance and by distribution.

dataset.json of both ─► shards that differ ─► their tables, paired by utterance ─► records that may differ
                     └► columns of all manifests ─► drift

Shards with equal sha256 are equal and are not read, so comparing two copies takes no time. Tables are handled as whole
columns. At most two mels are in memory at a time.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from pipelines.compare.changes import CHANGE_KINDS, Changes, differing_shards, find_changes
from pipelines.compare.drift import Drift, KeptRecords, find_drifts, read_kept_records
from pipelines.compare.settings import NameDifferences, SettingDifference, name_differences, setting_differences
from shared.dataset import Dataset, DatasetInfo


class Comparison(NamedTuple):
    """All differences between two datasets."""

    a: Dataset
    b: Dataset
    settings: list[SettingDifference]
    names: list[NameDifferences]
    shards: tuple[int, int]  # per side, the number of shards without an equal shard on the other side
    changes: Changes
    drifts: list[Drift]
    samples: KeptRecords | None  # the records compared for drift; None if all manifests are equal

    @property
    def are_equal(self) -> bool:
        """No setting, name or utterance differs."""
        named = any(len(self.changes[kind.name]) for kind in CHANGE_KINDS)
        return not (named or self.settings or any(one.differ for one in self.names))

    @property
    def are_identical(self) -> bool:
        """All shards and tables are equal byte for byte."""
        return self.are_equal and self.shards == (0, 0)

    @property
    def significant(self) -> list[Drift]:
        """The significant drifts, the largest D first."""
        return sorted((one for one in self.drifts if one.is_significant), key=lambda one: -one.statistic)


def compare_datasets(a: Dataset, b: Dataset) -> Comparison:
    """Compare two published datasets; the caller holds a read lock on both.

    Raises:
        UserError: a file of a dataset cannot be read.
    """
    differing = differing_shards(a, b)
    same = _manifests(a.info) == _manifests(b.info)
    samples = None if same else read_kept_records(a, b)
    return Comparison(
        a=a,
        b=b,
        settings=setting_differences(a, b),
        names=name_differences(a, b),
        shards=(len(differing[0]), len(differing[1])),
        changes=find_changes(a, b),
        drifts=find_drifts(samples) if samples else [],
        samples=samples,
    )


def _manifests(info: DatasetInfo) -> set[tuple[str, str]]:
    return {(shard.name, shard.manifest_sha256) for shard in info.shards}


def write_comparison(comparison: Comparison, *, path: Path) -> None:
    """Write the whole comparison as a page (.html) or as JSON (.json).

    Raises:
        UserError: the file cannot be written.
    """
    from pipelines.compare.json_document import write_document
    from pipelines.compare.page import write_page

    {".html": write_page, ".json": write_document}[path.suffix](comparison, path=path)
