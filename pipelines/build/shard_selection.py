"""Which shards of a dataset a job makes from the corpora, and which it takes as they were published."""

from __future__ import annotations

from typing import NamedTuple

from shared.dataset import ShardInfo


class Scope(NamedTuple):
    """By the names of the shards; what is in neither is made from the corpora."""

    published: dict[str, ShardInfo]  # taken where inputs and bytes are as they were
    trusted: dict[str, str | None]  # taken whatever the corpora say now; their inputs, None for those of today
