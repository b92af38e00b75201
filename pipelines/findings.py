"""What validation found: which file, which record, what is wrong and what it should be."""

from __future__ import annotations

import pydantic


class Finding(pydantic.BaseModel):
    """One thing that is not as it should be."""

    model_config = pydantic.ConfigDict(frozen=True)

    file: str  # relative to the dataset
    check: str
    message: str
    index: int | None = None  # of the record in its shard
    utterance_id: str | None = None


class ShardVerdict(pydantic.BaseModel):
    """What one shard turned out to hold; the dataset's totals are checked against the sum of these."""

    model_config = pydantic.ConfigDict(frozen=True)

    stem: str
    findings: list[Finding]
    records: int
    frames: int
    records_by_language: dict[str, int]
    records_by_speaker: dict[str, int]
    mel_sums: list[float]
    mel_squares: list[float]


class ValidationReport(pydantic.BaseModel):
    """The content of `DATA/validation/<time>.json`."""

    model_config = pydantic.ConfigDict(frozen=True)

    fingerprint: str
    finished: str
    seconds: float
    shards: int
    records: int
    bytes: int
    findings: list[Finding]
