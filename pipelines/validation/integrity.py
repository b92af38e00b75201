"""What of a dataset is still as it was published, by two records of it: `_SUCCESS` and `dataset.json`.

Each holds the sha256 of every shard's files, so that either may be damaged itself.
"""

from __future__ import annotations

import concurrent.futures
import errno
import os
from collections.abc import Iterable
from pathlib import Path

from pipelines.config import BuildConfig, config_document
from pipelines.validation.dataset_files import DatasetFiles, is_damaged_sum
from shared.config import load_config
from shared.dataset import Contract, ShardInfo
from shared.errors import UserError
from shared.files import bytes_sha256, file_sha256
from shared.layout import Layout, ShardName
from shared.storage_path import RemoteStoragePath, StoragePath

_OF_THE_FILE = (errno.ENOENT, errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.EIO)


def shard_names(published: DatasetFiles, *, layout: Layout) -> list[str]:
    """The names of the shards.

    Raises:
        UserError: neither record tells all of them.
    """
    if published.is_original:
        return sorted(_stated(published))
    stems = _stems_with_sums(published, layout=layout)
    on_disk = {path.stem for path in layout.shard("any").parent.glob("*.tfrecord") if shard_of_file(path.name)}
    if not stems or on_disk - set(stems):
        message = "neither dataset.json nor _SUCCESS tells any more what was published"
        raise UserError(f"{layout.root}: {message}; run `make preprocess` with the config it was built with")
    return stems


def has_complete_listing(published: DatasetFiles, *, layout: Layout) -> bool:
    """Whether one of the two records is whole, so that what it does not list is none of the dataset's."""
    has_sums = not any(one.file == layout.success.name for one in published.findings)
    return published.is_original or (has_sums and bool(_stems_with_sums(published, layout=layout)))


def _stems_with_sums(published: DatasetFiles, *, layout: Layout) -> list[str]:
    """The shards that `_SUCCESS` tells; none where some of its lines are missing."""
    stems = sorted({stem for name in published.sums if (stem := shard_of_file(name))})
    names = {path.relative_to(layout.root).as_posix() for stem in stems for path in layout.shard_files(stem)}
    return stems if _are_complete(stems) and names <= published.sums.keys() else []


def _are_complete(stems: Iterable[str]) -> bool:
    """Whether each source and split has all of its shards."""
    numbers: dict[tuple[str, str, int], set[int]] = {}
    for stem in map(ShardName.parse, stems):
        numbers.setdefault((stem.source, stem.split, stem.shards), set()).add(stem.shard)
    places = [(source, split) for source, split, _ in numbers]
    return len(places) == len(set(places)) and all(found == set(range(n)) for (_, _, n), found in numbers.items())


def expected_sums(stem: str, *, published: DatasetFiles, layout: Layout) -> list[set[str]]:
    """What either record says of each of a shard's files, in the order of `Layout.parts`."""
    names = [path.relative_to(layout.root).as_posix() for path in layout.shard_files(stem)]
    found = [{published.sums[name]} if name in published.sums else set() for name in names]
    if (shard := _stated(published).get(stem)) is not None:
        for one, digest in zip(found, shard.sha256_of_files(), strict=True):
            one.add(digest)
    return found


def stated_inputs(stem: str, *, published: DatasetFiles) -> str | None:
    """What the shard was made from, where that is known for certain."""
    return _stated(published)[stem].inputs if published.is_original else None


def _stated(published: DatasetFiles) -> dict[str, ShardInfo]:
    """What `dataset.json` says, true or not, by the names of the shards."""
    return {} if published.info is None else {shard.name: shard for shard in published.info.shards}


def shard_of_file(name: str) -> str | None:
    """The shard that a file of a dataset belongs to."""
    stem = Path(name).stem
    try:
        ShardName.parse(stem)
    except ValueError:
        return None
    return stem


def damaged_files(stems: Iterable[str], *, published: DatasetFiles, layout: Layout) -> list[StoragePath]:
    """The shards' files that are gone, or not what either record says."""
    expected = [
        pair
        for stem in stems
        for pair in zip(layout.shard_files(stem), expected_sums(stem, published=published, layout=layout), strict=True)
    ]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:  # hashing leaves Python's lock
        digests = pool.map(sha256_unless_damaged, [path for path, _ in expected])
        return [path for (path, sums), digest in zip(expected, digests, strict=True) if digest not in sums]


def sha256_unless_damaged(path: StoragePath) -> str | None:
    """The sha256 of a file; None where it is gone, no file, or on a part of the disk that has failed.

    Raises:
        UserError: it cannot be read for a reason that a new file would not end.
    """
    try:
        # a pipe would be read for ever
        return None if isinstance(path, Path) and not path.is_file() else file_sha256(path)
    except OSError as error:
        is_remote = isinstance(path, RemoteStoragePath)  # where any failure of the network is an EIO
        if error.errno in _OF_THE_FILE and not (is_remote and error.errno == errno.EIO):
            return None
        raise UserError(
            f"{path}: {error.strerror}; whether it is damaged cannot be told before it can be read"
        ) from error


def published_config(layout: Layout, *, published: DatasetFiles, given: BuildConfig | None) -> BuildConfig:
    """The config that the dataset was built with: as it lies there, or the one given, if it is that.

    Raises:
        UserError: it is damaged and none was given; another one was given.
    """
    stated = published.sums.get(layout.config.name)
    if given is not None:
        found = bytes_sha256(config_document(given))
        if stated is None and _is_whole(layout.config):
            stated = file_sha256(layout.config)
        if stated not in (None, found) and not is_damaged_sum(stated, found=found):
            raise UserError(f"{layout.root} was built with another config than the one given; see {layout.config}")
        return given
    if any(one.file == layout.config.name for one in published.findings):
        raise UserError(f"{layout.config} is gone or damaged; give the config that the dataset was built with")
    return load_config(layout.config, of=BuildConfig)


def check_contract(contract: Contract, *, published: DatasetFiles, layout: Layout) -> None:
    """Raises UserError where what is made now would mean something else than what is there."""
    if published.info is not None and published.info.fingerprint != contract.fingerprint:
        ours, theirs = contract.model_dump(), published.info.contract.model_dump()
        names = ", ".join(name for name in ours if ours[name] != theirs[name])
        message = f"{layout.root}: its {names} is not what it was when it was built"
        raise UserError(f"{message}; put that back, or build it anew with `make preprocess`")


def _is_whole(path: StoragePath) -> bool:
    """Whether a config is just as a build writes it."""
    try:
        return config_document(load_config(path, of=BuildConfig)) == path.read_bytes()
    except (UserError, OSError):
        return False
