"""A dataset on disk: the names of its files.

DATA/dataset.json                    what it is: contract, shards with their sha256, totals, statistics
DATA/shards/<stem>.tfrecord          stem = <source>-<split>-00003-of-00016
DATA/manifest/<stem>.parquet         a row per record of the shard, in its order
DATA/rejected/<stem>.parquet         a row per utterance that is not in the shard, and why
DATA/withheld/<stem>.{tfrecord,parquet}  records that a threshold rejected: another threshold brings them back
DATA/vocab.json                      the compact vocabulary
DATA/config.yaml                     what was asked for: the build's config with all its defaults
DATA/_SUCCESS                        written last: without it there is no dataset; the sha256 of each file above
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from shared.storage_path import StoragePath

SPLITS = ("train", "validation")
SOURCE_NAME_PATTERN = r"[a-z0-9][a-z0-9_]*"

_NUMBER = r"[0-9]{5}|[1-9][0-9]{5,}"
SHARD_NAME = re.compile(
    rf"(?P<source>{SOURCE_NAME_PATTERN})-(?P<split>{'|'.join(SPLITS)})-(?P<shard>{_NUMBER})-of-(?P<shards>{_NUMBER})"
)


class ShardName(NamedTuple):
    """The name of a shard without its suffix, in parts."""

    source: str
    split: str
    shard: int
    shards: int

    def __str__(self) -> str:
        return f"{self.source}-{self.split}-{self.shard:05d}-of-{self.shards:05d}"

    @classmethod
    def parse(cls, text: str) -> ShardName:
        """Raises ValueError where the text is no such name."""
        match = SHARD_NAME.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is no shard name like ljspeech-train-00003-of-00016")
        return cls(match["source"], match["split"], int(match["shard"]), int(match["shards"]))


class Layout(NamedTuple):
    """Where the files of a dataset lie; also of one that is being built."""

    root: StoragePath

    def shard(self, stem: str) -> StoragePath:
        return self.root / "shards" / f"{stem}.tfrecord"

    def manifest(self, stem: str) -> StoragePath:
        return self.root / "manifest" / f"{stem}.parquet"

    def rejected(self, stem: str) -> StoragePath:
        return self.root / "rejected" / f"{stem}.parquet"

    def withheld(self, stem: str) -> StoragePath:
        return self.root / "withheld" / f"{stem}.tfrecord"

    def withheld_manifest(self, stem: str) -> StoragePath:
        return self.root / "withheld" / f"{stem}.parquet"

    def shard_files(self, stem: str) -> tuple[StoragePath, ...]:
        """The five files of one shard."""
        return (
            self.shard(stem),
            self.manifest(stem),
            self.rejected(stem),
            self.withheld(stem),
            self.withheld_manifest(stem),
        )

    @property
    def folders(self) -> tuple[StoragePath, ...]:
        """Those of the shards' files."""
        return tuple(sorted({path.parent for path in self.shard_files("any")}))

    @property
    def dataset_files(self) -> tuple[StoragePath, ...]:
        """The files that are of the dataset as a whole; `_SUCCESS` last."""
        return (self.vocabulary, self.config, self.info, self.success)

    @property
    def report(self) -> StoragePath:
        return self.root / "report.html"

    @property
    def info(self) -> StoragePath:
        return self.root / "dataset.json"

    @property
    def vocabulary(self) -> StoragePath:
        return self.root / "vocab.json"

    @property
    def config(self) -> StoragePath:
        return self.root / "config.yaml"

    @property
    def success(self) -> StoragePath:
        return self.root / "_SUCCESS"

    @property
    def journal(self) -> StoragePath:
        return self.root / ".publication.json"

    @property
    def lock(self) -> StoragePath:
        return self.root / ".lock"

    @property
    def quarantine(self) -> StoragePath:
        return self.root / "quarantine"

    @property
    def validation(self) -> StoragePath:
        return self.root / "validation"

    @property
    def staging(self) -> StoragePath:
        return self.root / ".staging"


def is_dataset_file(name: str) -> bool:
    """Whether it can be the name of a dataset's file, relative to the dataset."""
    layout, stem = Layout(Path()), PurePosixPath(name).stem
    files = layout.shard_files(stem) if SHARD_NAME.fullmatch(stem) else layout.dataset_files
    return name in {file.relative_to(layout.root).as_posix() for file in files}
