"""Totals of a dataset, from the counts that dataset.json has of each shard."""

from __future__ import annotations

from collections.abc import Iterable

from shared.dataset import Contract, DatasetInfo, ShardInfo
from shared.vocabulary import NLLB


def num_records(info: DatasetInfo) -> int:
    """The number of records of all shards."""
    return sum(shard.records for shard in info.shards)


def token_ids(contract: Contract) -> str:
    """What the records hold of a text, in words."""
    return "NLLB token ids" if contract.tokenizer_kind == NLLB else "token ids"


def hours_in_words(info: DatasetInfo, shards: Iterable[ShardInfo]) -> str:
    """The length of all clips of these shards, in minutes if it is less than an hour."""
    hours = sum(shard.frames for shard in shards) / info.contract.features.frames_per_second / 3600
    return f"{hours:,.1f} h" if hours >= 1 else f"{60 * hours:.1f} min"
