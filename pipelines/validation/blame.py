"""Assigns findings to shards or to dataset.json if dataset.json is not the published one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pipelines.validation.findings import Finding
from shared.dataset import ShardInfo
from shared.layout import Layout

# Checks that compare with dataset.json alone: dataset.json is at fault, not the shard.
INFO_CHECKS = frozenset({"size", "rows", "records", "frames", "tokens"})
# Checks that need the published contract and thresholds: without them nothing is known.
CONTRACT_CHECKS = frozenset({"shape", "range", "speaker", "selection"})


def with_success_sums(shard: ShardInfo, *, layout: Layout, sums: Mapping[str, str]) -> ShardInfo:
    """Replace the sha256 sums of a shard's files by those in `_SUCCESS`."""
    names = ("sha256", "manifest_sha256", "rejected_sha256", "withheld_sha256", "withheld_manifest_sha256")
    files = (path.relative_to(layout.root).as_posix() for path in layout.shard_files(shard.name))
    known = {name: sums[file] for name, file in zip(names, files, strict=True) if file in sums}
    return shard.model_copy(update=known)


def reassign_blame(findings: Iterable[Finding], *, sums: Mapping[str, str], info: str) -> Iterator[Finding]:
    """Drop findings that need the published dataset.json, and move those that contradict it to dataset.json.

    Args:
        findings: findings of one shard.
        sums: sha256 by file, from `_SUCCESS`.
        info: file name of dataset.json.
    """
    for one in findings:
        if one.check in INFO_CHECKS or (one.check == "missing" and one.file not in sums):
            message = f"{one.file}: {one.message}; dataset.json states another value"
            yield one.model_copy(update={"file": info, "message": message})
        elif one.check not in CONTRACT_CHECKS:
            yield one
