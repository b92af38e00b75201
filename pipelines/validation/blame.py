"""Findings beside a dataset.json that is not what was published: what they say of the shards, and what of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pipelines.validation.findings import Finding
from shared.dataset import ShardInfo
from shared.layout import Layout

# Held against dataset.json alone: these speak against it, not against a shard.
STATED = frozenset({"size", "rows", "records", "frames", "tokens"})
# What only its contract and thresholds can tell is not known.
BY_CONTRACT = frozenset({"shape", "range", "speaker", "selection"})


def with_sums(shard: ShardInfo, *, layout: Layout, sums: Mapping[str, str]) -> ShardInfo:
    """The shard with the sha256 that `_SUCCESS` has of its files."""
    names = ("sha256", "manifest_sha256", "rejected_sha256", "withheld_sha256", "withheld_manifest_sha256")
    files = (path.relative_to(layout.root).as_posix() for path in layout.shard_files(shard.name))
    known = {name: sums[file] for name, file in zip(names, files, strict=True) if file in sums}
    return shard.model_copy(update=known)


def without_doubtful(findings: Iterable[Finding], *, sums: Mapping[str, str], info: str) -> Iterator[Finding]:
    """What is left to say of the shard's files; what speaks against dataset.json (`info`) is said of that."""
    for one in findings:
        if one.check in STATED or (one.check == "missing" and one.file not in sums):
            yield one.model_copy(update={"file": info, "message": f"{one.file}: {one.message}; here it says otherwise"})
        elif one.check not in BY_CONTRACT:
            yield one
