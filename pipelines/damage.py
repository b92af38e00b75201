"""What of a dataset is still as it was published, by two records of it: `_SUCCESS` and `dataset.json`.

Each holds the sha256 of every shard's files, so that either may be damaged itself.
"""

from __future__ import annotations

import concurrent.futures
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from pipelines.config import BuildConfig, config_document
from shared.config import load_config
from shared.dataset import DatasetInfo, ShardInfo, read_info
from shared.errors import UserError
from shared.files import bytes_sha256, file_sha256
from shared.layout import Layout, Stem
from shared.publication import read_sums


class Record(NamedTuple):
    """What is known of a dataset as it was published."""

    sums: dict[str, str]  # of `_SUCCESS`
    info: DatasetInfo | None  # `dataset.json`, as far as it can be read
    is_original: bool  # it is the one that was published

    @classmethod
    def of(cls, layout: Layout) -> Record:
        sums = read_sums(layout.success)
        try:
            info = read_info(layout.info)
        except UserError:
            return cls(sums, None, is_original=False)
        stated = sums.get(layout.info.name)
        return cls(sums, info, is_original=stated in (None, file_sha256(layout.info)))

    @property
    def shards(self) -> dict[str, ShardInfo]:
        """What `dataset.json` says, true or not, by the names of the shards."""
        return {} if self.info is None else {shard.name: shard for shard in self.info.shards}

    def stems(self) -> list[str]:
        """The names of the shards; none where neither record tells them."""
        if self.is_original:
            return sorted(self.shards)
        return sorted({stem for name in self.sums if (stem := stem_of_file(name))})

    def sums_of(self, stem: str, *, layout: Layout) -> list[set[str]]:
        """What either record says of each of a shard's files, in the order of `Layout.parts`."""
        names = [path.relative_to(layout.root).as_posix() for path in layout.parts(stem)]
        found = [{self.sums[name]} if name in self.sums else set() for name in names]
        if stem in self.shards:
            for one, digest in zip(found, self.shards[stem].sha256_of_parts(), strict=True):
                one.add(digest)
        return found


def stem_of_file(name: str) -> str | None:
    """The shard that a file of a dataset belongs to."""
    stem = Path(name).stem
    try:
        Stem.parse(stem)
    except ValueError:
        return None
    return stem


def damaged_files(stems: Iterable[str], *, record: Record, layout: Layout) -> list[Path]:
    """The shards' files that are gone, or not what either record says."""
    wanted = [
        pair for stem in stems for pair in zip(layout.parts(stem), record.sums_of(stem, layout=layout), strict=True)
    ]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:  # hashing leaves Python's lock
        digests = pool.map(_digest, [path for path, _ in wanted])
        return [path for (path, sums), digest in zip(wanted, digests, strict=True) if digest not in sums]


def _digest(path: Path) -> str | None:
    try:
        return file_sha256(path)
    except OSError:
        return None


def published_config(layout: Layout, *, record: Record, given: BuildConfig | None) -> BuildConfig:
    """The config that the dataset was built with: as it lies there, or the one given, if it is that.

    Raises:
        UserError: it is damaged and none was given; another one was given.
    """
    stated = record.sums.get(layout.config.name)
    if given is not None:
        if stated not in (None, bytes_sha256(config_document(given))):
            raise UserError(f"{layout.root} was built with another config than the one given; see {layout.config}")
        return given
    if not layout.config.is_file() or stated not in (None, file_sha256(layout.config)):
        raise UserError(f"{layout.config} is gone or damaged; give the config that the dataset was built with")
    return load_config(layout.config, of=BuildConfig)
