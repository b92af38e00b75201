"""The sha256 of every file of a dataset: as dataset.json states them, and as `_SUCCESS` lists them."""

from __future__ import annotations

from shared.dataset import DatasetInfo
from shared.files import file_sha256
from shared.layout import Layout


def stated_sums(info: DatasetInfo, *, layout: Layout) -> dict[str, str]:
    """The sha256 by file name that dataset.json states: of the vocabulary and of the shards' files."""
    stated = {layout.vocabulary.name: info.vocabulary_sha256}
    for shard in info.shards:
        names = (path.relative_to(layout.root).as_posix() for path in layout.shard_files(shard.name))
        stated.update(zip(names, shard.sha256_of_files(), strict=True))
    return stated


def success_sums(info: DatasetInfo, *, layout: Layout) -> dict[str, str]:
    """The sha256 by file name that `_SUCCESS` lists: of every file of the dataset but `_SUCCESS` itself."""
    own = {path.name: file_sha256(path) for path in (layout.info, layout.vocabulary, layout.config)}
    return {**stated_sums(info, layout=layout), **own}
