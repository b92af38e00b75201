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

from shared.storage_path import Place

SPLITS = ("train", "validation")
NAME_PATTERN = r"[a-z0-9][a-z0-9_]*"

_NUMBER = r"[0-9]{5}|[1-9][0-9]{5,}"
STEM = re.compile(
    rf"(?P<source>{NAME_PATTERN})-(?P<split>{'|'.join(SPLITS)})-(?P<shard>{_NUMBER})-of-(?P<shards>{_NUMBER})"
)


class Stem(NamedTuple):
    """The name of a shard without its suffix, in parts."""

    source: str
    split: str
    shard: int
    shards: int

    def __str__(self) -> str:
        return f"{self.source}-{self.split}-{self.shard:05d}-of-{self.shards:05d}"

    @classmethod
    def parse(cls, text: str) -> Stem:
        """Raises ValueError where the text is no such name."""
        match = STEM.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is no shard name like ljspeech-train-00003-of-00016")
        return cls(match["source"], match["split"], int(match["shard"]), int(match["shards"]))


class Layout(NamedTuple):
    """Where the files of a dataset lie; also of one that is being built."""

    root: Place

    def shard(self, stem: str) -> Place:
        return self.root / "shards" / f"{stem}.tfrecord"

    def manifest(self, stem: str) -> Place:
        return self.root / "manifest" / f"{stem}.parquet"

    def rejected(self, stem: str) -> Place:
        return self.root / "rejected" / f"{stem}.parquet"

    def withheld(self, stem: str) -> Place:
        return self.root / "withheld" / f"{stem}.tfrecord"

    def withheld_manifest(self, stem: str) -> Place:
        return self.root / "withheld" / f"{stem}.parquet"

    def parts(self, stem: str) -> tuple[Place, ...]:
        """The five files of one shard."""
        return (
            self.shard(stem),
            self.manifest(stem),
            self.rejected(stem),
            self.withheld(stem),
            self.withheld_manifest(stem),
        )

    @property
    def folders(self) -> tuple[Place, ...]:
        """Those of the shards' files."""
        return tuple(sorted({path.parent for path in self.parts("any")}))

    @property
    def whole(self) -> tuple[Place, ...]:
        """The files that are of the dataset as a whole; `_SUCCESS` last."""
        return (self.vocabulary, self.config, self.info, self.success)

    @property
    def report(self) -> Place:
        return self.root / "report.html"

    @property
    def info(self) -> Place:
        return self.root / "dataset.json"

    @property
    def vocabulary(self) -> Place:
        return self.root / "vocab.json"

    @property
    def config(self) -> Place:
        return self.root / "config.yaml"

    @property
    def success(self) -> Place:
        return self.root / "_SUCCESS"

    @property
    def journal(self) -> Place:
        return self.root / ".publication.json"

    @property
    def lock(self) -> Place:
        return self.root / ".lock"

    @property
    def quarantine(self) -> Place:
        return self.root / "quarantine"

    @property
    def validation(self) -> Place:
        return self.root / "validation"

    @property
    def staging(self) -> Place:
        return self.root / ".staging"


def is_name(name: str) -> bool:
    """Whether it can be the name of a dataset's file, relative to the dataset."""
    layout, stem = Layout(Path()), PurePosixPath(name).stem
    files = layout.parts(stem) if STEM.fullmatch(stem) else layout.whole
    return name in {file.relative_to(layout.root).as_posix() for file in files}
