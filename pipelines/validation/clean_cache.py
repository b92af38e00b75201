"""What the last inspection found clean, so that `--changed` need not read it again.

    DATA/validation/trusted.jsonl     sha256 of all that follows
                                      {"version": …, "judged_by": …}
                                      {"stem": …, "stated": …, "state": …, …}      a line per shard: see `CachedVerdict`

A shard is trusted where each of its files has the size, time and inode that it had before it was read (in an object
store, which has no inodes, the size and time), and each of its recordings too where no mels are stored, dataset.json
states the same sha256 of it, and contract and thresholds are the same. A file of another version, or one that was
damaged, is as good as none.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from pipelines.validation.findings import ShardSums, ShardVerdict
from shared.dataset import DatasetInfo, ShardInfo
from shared.files import new_file
from shared.layout import Layout
from shared.storage_path import StoragePath

# Another version of the checks trusts nothing that this one found.
CHECKS_VERSION = 2
NAME = "trusted.jsonl"


def state_of(paths: Iterable[StoragePath]) -> str:
    """Size, time and inode of each file; different whenever one was replaced, written to or is absent."""
    return " ".join(map(_state, paths))


def _state(path: StoragePath) -> str:
    try:
        if not isinstance(path, Path):
            state = path.stat()
            return f"{state.st_size}:{state.st_mtime}"
        found = os.stat(path)  # noqa: PTH116 - half the time of Path.stat, five times a shard
    except (OSError, ValueError):  # ValueError: a path that can be no file's
        return "absent"
    return f"{found.st_size}:{found.st_mtime_ns}:{found.st_ino}"


class CachedVerdict(NamedTuple):
    """What is known of one shard from an earlier inspection."""

    stated: str
    state: str
    sums: str  # ShardSums as JSON
    recordings: str  # their state, where no mels are stored

    def verdict(self, shard: ShardInfo, *, layout: Layout) -> ShardVerdict | None:
        """The verdict of then, where everything is as it was."""
        if self.stated != _stated(shard) or self.state != state_of(layout.shard_files(shard.name)):
            return None
        sums = ShardSums.model_validate_json(self.sums)
        return ShardVerdict(
            stem=shard.name, findings=[], sums=sums, state=self.state, recordings=self.recordings, trusted=True
        )


def _stated(shard: ShardInfo) -> str:
    """All that dataset.json says of the shard and an inspection checks."""
    facts = shard.model_dump_json(exclude={"inputs"})
    return hashlib.sha256(facts.encode()).hexdigest()


def _judged_by(info: DatasetInfo) -> str:
    facts = json.dumps([info.fingerprint, info.selection.checks], sort_keys=True)
    return hashlib.sha256(facts.encode()).hexdigest()


def read_clean_cache(layout: Layout, *, info: DatasetInfo) -> dict[str, CachedVerdict]:
    """What may be trusted, by stem; nothing where the file is absent, damaged, or of other checks."""
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
    """Remember the shards of which nothing was found.

    Raises:
        OSError: the disk.
    """
    shards = {shard.name: shard for shard in info.shards}
    lines = (json.dumps(_head(info)), *(_line(verdict, shards[verdict.stem]) for verdict in clean))
    content = "".join(f"{line}\n" for line in lines).encode()
    with new_file(layout.validation / NAME) as file:
        file.write(hashlib.sha256(content).hexdigest().encode() + b"\n" + content)


def _line(verdict: ShardVerdict, shard: ShardInfo) -> str:
    sums = verdict.sums.model_dump_json()
    trust = CachedVerdict(stated=_stated(shard), state=verdict.state, sums=sums, recordings=verdict.recordings)
    return json.dumps({"stem": verdict.stem, **trust._asdict()})


def _head(info: DatasetInfo) -> dict[str, object]:
    return {"version": CHECKS_VERSION, "judged_by": _judged_by(info)}
