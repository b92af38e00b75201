"""Caches which shards the last validation found clean, so that `validate --changed` does not read them again.

    DATA/validation/trusted.jsonl     sha256 of the rest of the file
                                      {"version": …, "judged_by": …}
                                      {"stem": …, "stated": …, "state": …, …}      a line per shard: see `CachedVerdict`

A cached verdict is used if
- each file of the shard still has the size, modification time and inode that it had before it was read (in an object
  store, which has no inodes: size and time); the same for each recording if the dataset stores no mels,
- dataset.json states the same about the shard, and
- contract, thresholds and version of the checks are the same.
A cache that is damaged or of another version is ignored.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import NamedTuple

from pipelines.storage.file_states import state_of
from pipelines.validation.findings import ShardSums, ShardVerdict
from shared.dataset import DatasetInfo, ShardInfo
from shared.files import new_file
from shared.layout import Layout

# Raise it if the checks change: caches of other versions are ignored.
CHECKS_VERSION = 2
NAME = "trusted.jsonl"


class CachedVerdict(NamedTuple):
    """The result of an earlier validation of one shard without findings."""

    stated: str
    state: str
    sums: str  # ShardSums as JSON
    recordings: str  # state of the recordings if the dataset stores no mels

    def verdict(self, shard: ShardInfo, *, layout: Layout) -> ShardVerdict | None:
        """The earlier verdict; None if the shard or what dataset.json states about it has changed."""
        if self.stated != _stated(shard) or self.state != state_of(layout.shard_files(shard.name)):
            return None
        sums = ShardSums.model_validate_json(self.sums)
        return ShardVerdict(
            shard_name=shard.name, findings=[], sums=sums, state=self.state, recordings=self.recordings, trusted=True
        )


def _stated(shard: ShardInfo) -> str:
    """Hash of everything that dataset.json states about the shard and validation checks."""
    document = shard.model_dump_json(exclude={"inputs"})
    return hashlib.sha256(document.encode()).hexdigest()


def _checks_fingerprint(info: DatasetInfo) -> str:
    document = json.dumps([info.fingerprint, info.selection.checks], sort_keys=True)
    return hashlib.sha256(document.encode()).hexdigest()


def read_clean_cache(layout: Layout, *, info: DatasetInfo) -> dict[str, CachedVerdict]:
    """Cached verdicts by shard name; empty if the cache is missing, damaged or of other checks."""
    try:
        digest, content = (layout.validation / NAME).read_bytes().split(b"\n", 1)
    except (OSError, ValueError):
        return {}
    if hashlib.sha256(content).hexdigest().encode() != digest:
        return {}
    head, *lines = content.decode().splitlines()
    if json.loads(head) != _head(info):
        return {}
    rows = (json.loads(line) for line in lines)
    return {row.pop("stem"): CachedVerdict(**row) for row in rows}


def write_clean_cache(layout: Layout, *, info: DatasetInfo, clean: Iterable[ShardVerdict]) -> None:
    """Store the verdicts of the shards without findings.

    Raises:
        OSError: the cache cannot be written.
    """
    shards = {shard.name: shard for shard in info.shards}
    lines = (json.dumps(_head(info)), *(_line(verdict, shards[verdict.shard_name]) for verdict in clean))
    content = "".join(f"{line}\n" for line in lines).encode()
    with new_file(layout.validation / NAME) as file:
        file.write(hashlib.sha256(content).hexdigest().encode() + b"\n" + content)


def _line(verdict: ShardVerdict, shard: ShardInfo) -> str:
    sums = verdict.sums.model_dump_json()
    cached = CachedVerdict(stated=_stated(shard), state=verdict.state, sums=sums, recordings=verdict.recordings)
    return json.dumps({"stem": verdict.shard_name, **cached._asdict()})


def _head(info: DatasetInfo) -> dict[str, object]:
    return {"version": CHECKS_VERSION, "judged_by": _checks_fingerprint(info)}
