"""The summary of a finished shard, from which the driver makes dataset.json."""

from __future__ import annotations

from collections.abc import Iterable

import pydantic

from pipelines.build.staging import Staging
from shared.dataset import ShardInfo

# Unit of the sums of mels, 2^-32: integers add up to the same in any order. Those of a recording are below 2^63; those
# of a shard need not be.
SUM_UNITS = 1 << 32


class RecordTotals(pydantic.BaseModel):
    """What dataset.json and the vocabulary need of the kept records themselves."""

    model_config = pydantic.ConfigDict(frozen=True)

    records_by_token: dict[int, int]  # number of records that hold a token id
    mel_sums: list[int]  # per band over all frames, [M], in SUM_UNITS
    mel_squares: list[int]


class ShardReport(pydantic.BaseModel):
    """Summary of a finished shard for the driver."""

    model_config = pydantic.ConfigDict(frozen=True)

    info: ShardInfo
    records_by_language: dict[str, int]
    failures_by_language: dict[str, int]  # rejections, but those that the config asks for (caps)
    failures_by_reason: dict[str, int]
    records_by_speaker: dict[str, int]
    retried: int = 0  # rejections that the next build tries again
    processor: str = ""  # of the worker that prepared utterances, see `provenance.py`
    totals: RecordTotals


def read_reports(shard_names: Iterable[str], *, staging: Staging) -> list[ShardReport]:
    """The reports of these shards, in the given order."""
    return [ShardReport.model_validate_json(staging.report_path(name).read_bytes()) for name in shard_names]
