"""Data classes of validation results: findings, verdicts of shards, and the report."""

from __future__ import annotations

from collections.abc import Iterator

import pydantic

from shared.storage_path import StoragePath

# Listed findings per file and check; the last one has the number of those omitted.
MAX_ALIKE = 50


class _Frozen(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True)


class Finding(_Frozen):
    """One defect of a dataset."""

    file: str  # relative to the dataset
    check: str
    message: str
    shard_name: str | None = None  # the shard, if the finding concerns one
    index: int | None = None  # of the record in the shard
    utterance_id: str | None = None
    expected: str | None = None
    omitted: int = 0  # number of findings of this file and check that are not listed
    fix: str = ""  # a command, or what to do


class Findings:
    """Collects the findings of one shard; lists at most `MAX_ALIKE` for each file and check."""

    def __init__(self, *, root: StoragePath, shard_name: str):
        self._root, self._shard_name = root, shard_name
        self._listed: dict[tuple[str, str], list[Finding]] = {}
        self._more: dict[tuple[str, str], int] = {}
        self.named: set[str] = set()  # utterances with findings

    def add(
        self,
        path: StoragePath,
        check: str,
        message: str,
        *,
        index: int | None = None,
        utterance_id: str | None = None,
        expected: object = None,
    ) -> None:
        """Add a defect of a file of the dataset, or of one of its records."""
        file = str(path.relative_to(self._root))
        listed = self._listed.setdefault((file, check), [])
        if utterance_id is not None:
            self.named.add(utterance_id)
        if len(listed) == MAX_ALIKE:
            self._more[file, check] = self._more.get((file, check), 0) + 1
            return
        listed.append(
            Finding(
                file=file,
                check=check,
                message=message,
                shard_name=self._shard_name,
                index=index,
                utterance_id=utterance_id,
                expected=None if expected is None else str(expected),
            )
        )

    def __iter__(self) -> Iterator[Finding]:
        for place, listed in self._listed.items():
            yield from listed[:-1]
            yield listed[-1].model_copy(update={"omitted": self._more.get(place, 0)})


class ShardSums(_Frozen):
    """Totals over the valid records of one shard."""

    records: int
    frames: int
    records_by_language: dict[str, int]
    records_by_speaker: dict[str, int]
    mel_sums: list[float]
    mel_squares: list[float]


class ShardVerdict(_Frozen):
    """The result of the inspection of one shard."""

    shard_name: str
    findings: list[Finding]
    sums: ShardSums
    state: str  # of its files before they were read: see `pipelines.validation.clean_cache`
    recordings: str = ""  # state of its recordings, if the dataset stores no mels
    damaged: bool = False  # some bytes differ from the published ones
    trusted: bool = False  # taken from the cache of clean shards, nothing was read


class ValidationReport(_Frozen):
    """The content of `DATA/validation/<time>.json`."""

    fingerprint: str
    finished: str
    seconds: float
    shards: int
    trusted: int  # number of shards that were not read again
    records: int
    bytes: int
    findings: list[Finding]

    @property
    def found(self) -> int:
        """Number of findings, including those that are counted but not listed."""
        return sum(1 + finding.omitted for finding in self.findings)
