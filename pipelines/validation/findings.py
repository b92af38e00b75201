"""What validation found: which file, which record, what is wrong, what it should be, and what mends it."""

from __future__ import annotations

from collections.abc import Iterator

import pydantic

from shared.storage_path import StoragePath

# Of one kind in one file so many are listed; the last of them says how many more there are.
MAX_ALIKE = 50


class _Frozen(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True)


class Finding(_Frozen):
    """One thing that is not as it should be."""

    file: str  # relative to the dataset
    check: str
    message: str
    stem: str | None = None  # of the shard, where it is about one
    index: int | None = None  # of the record in its file
    utterance_id: str | None = None
    expected: str | None = None
    omitted: int = 0  # so many more of this kind in this file are not listed
    fix: str = ""  # what to do about it


class Findings:
    """The findings of one shard, no more than `MAX_ALIKE` of a kind in a file."""

    def __init__(self, *, root: StoragePath, stem: str):
        self._root, self._stem = root, stem
        self._listed: dict[tuple[str, str], list[Finding]] = {}
        self._more: dict[tuple[str, str], int] = {}
        self.named: set[str] = set()  # utterances that something was found about

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
        """Something is wrong with a file of the dataset, or with one of its records."""
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
                stem=self._stem,
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
    """What the sound records of one shard add up to."""

    records: int
    frames: int
    records_by_language: dict[str, int]
    records_by_speaker: dict[str, int]
    mel_sums: list[float]
    mel_squares: list[float]


class ShardVerdict(_Frozen):
    """What one shard turned out to hold."""

    stem: str
    findings: list[Finding]
    sums: ShardSums
    state: str  # of its files when they were read: see `pipelines.validation.clean_cache`
    recordings: str = ""  # the same of its recordings, where they are its data
    damaged: bool = False  # some of its bytes are not those that were published
    trusted: bool = False  # nothing was read: the files are those of an earlier, clean inspection


class ValidationReport(_Frozen):
    """The content of `DATA/validation/<time>.json`."""

    fingerprint: str
    finished: str
    seconds: float
    shards: int
    trusted: int  # of the shards, those that were not read again
    records: int
    bytes: int
    findings: list[Finding]

    @property
    def found(self) -> int:
        """All findings, also those that are counted and not listed."""
        return sum(1 + finding.omitted for finding in self.findings)
