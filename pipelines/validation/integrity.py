"""Compares the files of a dataset with the sha256 sums in `_SUCCESS` and in dataset.json.

Both hold the sums of every shard's files, because either may be damaged itself.
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
from shared.dataset import Contract, ShardInfo, contract_differences
from shared.errors import UserError
from shared.files import bytes_sha256, file_sha256
from shared.layout import Layout, ShardName
from shared.storage_path import RemoteStoragePath, StoragePath

_FILE_ERRORS = (errno.ENOENT, errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.EIO)


def shard_names(published: DatasetFiles, *, layout: Layout) -> list[str]:
    """The names of all published shards.

    Raises:
        UserError: neither dataset.json nor `_SUCCESS` lists all of them.
    """
    if published.is_original:
        return sorted(_stated(published))
    names = _shards_with_all_sums(published, layout=layout)
    on_disk = {path.stem for path in layout.shard("any").parent.glob("*.tfrecord") if shard_of_file(path.name)}
    if not names or on_disk - set(names):
        message = "neither dataset.json nor _SUCCESS lists all published shards"
        raise UserError(f"{layout.root}: {message}; run `make preprocess` with the config it was built with")
    return names


def has_complete_listing(published: DatasetFiles, *, layout: Layout) -> bool:
    """True if dataset.json or `_SUCCESS` is complete, so that files it does not list are not the dataset's."""
    has_sums = not any(one.file == layout.success.name for one in published.findings)
    return published.is_original or (has_sums and bool(_shards_with_all_sums(published, layout=layout)))


def _shards_with_all_sums(published: DatasetFiles, *, layout: Layout) -> list[str]:
    """The shards that `_SUCCESS` lists; empty if lines are missing."""
    names = sorted({shard_name for name in published.sums if (shard_name := shard_of_file(name))})
    files = {
        path.relative_to(layout.root).as_posix() for shard_name in names for path in layout.shard_files(shard_name)
    }
    return names if _are_complete(names) and files <= published.sums.keys() else []


def _are_complete(names: Iterable[str]) -> bool:
    """True if each source and split has all of its shards."""
    numbers: dict[tuple[str, str, int], set[int]] = {}
    for shard_name in map(ShardName.parse, names):
        numbers.setdefault((shard_name.source, shard_name.split, shard_name.shards), set()).add(shard_name.shard)
    places = [(source, split) for source, split, _ in numbers]
    return len(places) == len(set(places)) and all(found == set(range(n)) for (_, _, n), found in numbers.items())


def expected_sums(shard_name: str, *, published: DatasetFiles, layout: Layout) -> list[set[str]]:
    """The sums that `_SUCCESS` and dataset.json state for the files of a shard, in the order of `shard_files`."""
    names = [path.relative_to(layout.root).as_posix() for path in layout.shard_files(shard_name)]
    found = [{published.sums[name]} if name in published.sums else set() for name in names]
    if (shard := _stated(published).get(shard_name)) is not None:
        for one, digest in zip(found, shard.sha256_of_files(), strict=True):
            one.add(digest)
    return found


def stated_inputs(shard_name: str, *, published: DatasetFiles) -> str | None:
    """Hash of the inputs of a shard; None unless dataset.json is the published one."""
    return _stated(published)[shard_name].inputs if published.is_original else None


def _stated(published: DatasetFiles) -> dict[str, ShardInfo]:
    """Entries of dataset.json by shard name, correct or not."""
    return {} if published.info is None else {shard.name: shard for shard in published.info.shards}


def shard_of_file(name: str) -> str | None:
    """The name of the shard to which a file name belongs; None if the name is not a shard's."""
    shard_name = Path(name).stem
    try:
        ShardName.parse(shard_name)
    except ValueError:
        return None
    return shard_name


def damaged_files(names: Iterable[str], *, published: DatasetFiles, layout: Layout) -> list[StoragePath]:
    """Files of the shards that are missing or have none of the stated sums."""
    expected = [
        pair
        for shard_name in names
        for pair in zip(
            layout.shard_files(shard_name), expected_sums(shard_name, published=published, layout=layout), strict=True
        )
    ]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:  # hashing releases the interpreter lock
        digests = pool.map(sha256_unless_damaged, [path for path, _ in expected])
        return [path for (path, sums), digest in zip(expected, digests, strict=True) if digest not in sums]


def sha256_unless_damaged(path: StoragePath) -> str | None:
    """sha256 of a file; None if it is missing, not a file, or on a failed part of the disk.

    Raises:
        UserError: the file cannot be read for a reason that a new file would not remove.
    """
    try:
        # reading a pipe would never end
        return None if isinstance(path, Path) and not path.is_file() else file_sha256(path)
    except OSError as error:
        is_remote = isinstance(path, RemoteStoragePath)  # there EIO stands for any network failure
        if error.errno in _FILE_ERRORS and not (is_remote and error.errno == errno.EIO):
            return None
        raise UserError(f"{path}: {error.strerror}; whether it is damaged is unknown until it can be read") from error


def published_config(layout: Layout, *, published: DatasetFiles, given: BuildConfig | None) -> BuildConfig:
    """The config with which the dataset was built: `given`, if it is that one, else the dataset's config.yaml.

    Raises:
        UserError: config.yaml is damaged and no config was given, or another config was given.
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
        raise UserError(f"{layout.config} is missing or damaged; give the config that the dataset was built with")
    return load_config(layout.config, of=BuildConfig)


def check_contract(contract: Contract, *, published: DatasetFiles, layout: Layout) -> None:
    """Raise UserError if this environment's contract differs from that of the dataset."""
    if published.info is not None and published.info.fingerprint != contract.fingerprint:
        differing = contract_differences(contract, published.info.contract)
        names = ", ".join(dict.fromkeys(name.partition(".")[0] for name in differing))
        message = f"{layout.root}: its {names} differs from that of the build"
        raise UserError(f"{message}; restore it, or rebuild with `make preprocess`")


def _is_whole(path: StoragePath) -> bool:
    """True if a config file is byte for byte as a build writes it."""
    try:
        return config_document(load_config(path, of=BuildConfig)) == path.read_bytes()
    except (UserError, OSError):
        return False
