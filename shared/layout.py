"""The files of a dataset on disk, and their names.

DATA/dataset.json               contract, shards with their sha256, totals, statistics
DATA/shards/<shard>.tfrecord    <shard> = <source>-<split>-00003-of-00016
DATA/manifest/<shard>.parquet   a row per record of the shard, in the shard's order
DATA/rejected/<shard>.parquet   a row per utterance that is not in the shard, with the reason
DATA/withheld/<shard>.{tfrecord,parquet}    records that a threshold rejected; another threshold brings them back
DATA/vocab.json                 the compact vocabulary
DATA/config.yaml                the build's config with all its defaults
DATA/_SUCCESS                   the sha256 of each file above; written last: without it there is no dataset
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from shared.storage_path import StoragePath

SPLITS = ("train", "validation", "test")
TRAINING_SPLITS = ("train", "validation")  # those that a training run reads
SOURCE_NAME_PATTERN = r"[a-z0-9][a-z0-9_]*"

_NUMBER = r"[0-9]{5}|[1-9][0-9]{5,}"
SHARD_NAME = re.compile(
    rf"(?P<source>{SOURCE_NAME_PATTERN})-(?P<split>{'|'.join(SPLITS)})-(?P<shard>{_NUMBER})-of-(?P<shards>{_NUMBER})"
)


class ShardName(NamedTuple):
    """The name of a shard, such as `ljspeech-train-00003-of-00016`, in parts."""

    source: str
    split: str
    shard: int
    shards: int

    def __str__(self) -> str:
        return f"{self.source}-{self.split}-{self.shard:05d}-of-{self.shards:05d}"

    @classmethod
    def parse(cls, text: str) -> ShardName:
        """Parse a shard's name; raises ValueError if the text is not one."""
        match = SHARD_NAME.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not a shard name such as ljspeech-train-00003-of-00016")
        return cls(match["source"], match["split"], int(match["shard"]), int(match["shards"]))


class Layout(NamedTuple):
    """The paths of a dataset's files, also while the dataset is being built."""

    root: StoragePath

    def shard(self, shard_name: str) -> StoragePath:
        return self.root / "shards" / f"{shard_name}.tfrecord"

    def manifest(self, shard_name: str) -> StoragePath:
        return self.root / "manifest" / f"{shard_name}.parquet"

    def rejected(self, shard_name: str) -> StoragePath:
        return self.root / "rejected" / f"{shard_name}.parquet"

    def withheld(self, shard_name: str) -> StoragePath:
        return self.root / "withheld" / f"{shard_name}.tfrecord"

    def withheld_manifest(self, shard_name: str) -> StoragePath:
        return self.root / "withheld" / f"{shard_name}.parquet"

    def shard_files(self, shard_name: str) -> tuple[StoragePath, ...]:
        """The five files of one shard."""
        return (
            self.shard(shard_name),
            self.manifest(shard_name),
            self.rejected(shard_name),
            self.withheld(shard_name),
            self.withheld_manifest(shard_name),
        )

    @property
    def folders(self) -> tuple[StoragePath, ...]:
        """The folders of the shards' files."""
        return tuple(sorted({path.parent for path in self.shard_files("any")}))

    @property
    def dataset_files(self) -> tuple[StoragePath, ...]:
        """The files that belong to the dataset and not to one shard; `_SUCCESS` last."""
        return (self.vocabulary, self.config, self.info, self.success)

    @property
    def report(self) -> StoragePath:
        return self.root / "report.html"

    @property
    def descriptions(self) -> tuple[StoragePath, ...]:
        """The files that describe the dataset to other software; `_SUCCESS` does not list them."""
        return tuple(self.root / name for name in ("dataset_info.json", "features.json", "croissant.json"))

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
    def build_cache(self) -> StoragePath:
        """The folder with what a build leaves for the next one; it is not part of the dataset."""
        return self.root / "build_cache"

    @property
    def staging(self) -> StoragePath:
        return self.root / ".staging"


def is_dataset_file(name: str) -> bool:
    """True if `name` is the relative path of a file that a dataset can have."""
    layout, shard_name = Layout(Path()), PurePosixPath(name).stem
    files = layout.shard_files(shard_name) if SHARD_NAME.fullmatch(shard_name) else layout.dataset_files
    return name in {file.relative_to(layout.root).as_posix() for file in files}
