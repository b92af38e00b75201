"""Publication: the staged files of a finished build take their names in the dataset.

A build writes all its files before it touches the older dataset, so that a full disk changes nothing there. A
published file with the same bytes as the staged one is left alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from pipelines.build.build_cache import add_to_cache, stamp_cache
from pipelines.build.staging import Staging
from pipelines.build.unlisted_files import listed_files
from shared.dataset import DatasetInfo
from shared.files import has_same_bytes, link_file
from shared.layout import Layout
from shared.publication import publish_files
from shared.storage_path import StoragePath


class Published(NamedTuple):
    """The dataset that a job published, and the files that it changed."""

    info: DatasetInfo
    changed: tuple[str, ...]  # files that were written or removed, relative to the dataset


def publish(info: DatasetInfo, *, data: Layout, staging: Staging, keep_in: StoragePath | None = None) -> Published:
    """Move the staged files into the dataset and remove those that only the older dataset lists.

    Args:
        info: the content of the staged dataset.json.
        keep_in: a folder for the files that are replaced or removed. Unlisted files, and anything that is not a
            regular file, move there too.
    """
    shard_names = [shard.name for shard in info.shards]
    for folder in data.folders:
        folder.mkdir(exist_ok=True)
    moves = list(_changed_files(shard_names, staged=staging.layout, data=data))
    kept, listed = {path for name in shard_names for path in data.shard_files(name)}, listed_files(data)
    removals = [path for path in sorted(listed - kept - set(data.dataset_files)) if path.exists()]
    touched = [*removals, *(target for _, target in moves)]
    unlisted = list(_files_not_listed(data, listed=kept | listed)) if keep_in is not None else []
    if keep_in is not None:
        _link_into(keep_in, touched, data=data)
        _move_into(keep_in, [*unlisted, *filter(_is_not_regular, touched)], data=data)
    _write_cache_or_log(lambda: add_to_cache(info.shards, staged=staging.layout, data=data), data=data)
    if touched:
        moves = [move for move in moves if move[1] != data.success] + [(staging.layout.success, data.success)]
        publish_files(data, moves=moves, removals=removals)
    _write_cache_or_log(lambda: stamp_cache(info.shards, data=data), data=data)
    _remove_staging(staging)
    changed = (path.relative_to(data.root).as_posix() for path in (*touched, *unlisted))
    return Published(info, tuple(sorted(changed)))


def _write_cache_or_log(write: Callable[[], None], *, data: Layout) -> None:
    """Write what the next build reuses; a failure is logged only, because the dataset is complete without it."""
    try:
        write()
    except OSError as error:
        failed = f"{error.filename or data.build_cache}: {error.strerror}"
        click.echo(
            f"{failed}; the dataset does not need it, but the next build prepares or compares utterances again",
            err=True,
        )


def _remove_staging(staging: Staging) -> None:
    """Remove the staging folders; a failure is logged only, because the dataset is already published."""
    try:
        staging.remove_all()
    except OSError as error:
        left = f"{error.filename or staging.root.parent}: {error.strerror}"
        click.echo(f"published; {left}: could not be removed, the next build does it", err=True)


def _changed_files(
    shard_names: Sequence[str], *, staged: Layout, data: Layout
) -> Iterator[tuple[StoragePath, StoragePath]]:
    """(staged, final) of each file whose bytes differ from those of the published file."""
    pairs = [
        *(pair for name in shard_names for pair in zip(staged.shard_files(name), data.shard_files(name), strict=True)),
        (staged.vocabulary, data.vocabulary),
        (staged.config, data.config),
        (staged.info, data.info),
        (staged.success, data.success),
    ]
    for source, target in pairs:
        if source.exists() and not (target.is_file() and _have_same_bytes(source, target)):
            yield source, target


def _have_same_bytes(source: StoragePath, target: StoragePath) -> bool:
    """Whether two files hold the same bytes; False if one of them cannot be read."""
    try:
        return has_same_bytes(source, target)
    except OSError:
        return False


def _files_not_listed(data: Layout, *, listed: set[StoragePath]) -> Iterator[StoragePath]:
    return (path for folder in data.folders for path in sorted(folder.iterdir()) if path not in listed)


def _link_into(folder: StoragePath, paths: Iterable[StoragePath], *, data: Layout) -> None:
    for path in paths:
        if path.is_file():
            link_file(path, _same_place_below(folder, path, data=data))


def _move_into(folder: StoragePath, paths: Iterable[StoragePath], *, data: Layout) -> None:
    for path in paths:
        target = _same_place_below(folder, path, data=data)
        path.rename(target) if path.is_dir() else path.replace(target)


def _is_not_regular(path: StoragePath) -> bool:
    """True for a folder, a pipe or a broken link."""
    return isinstance(path, Path) and os.path.lexists(path) and not path.is_file()


def _same_place_below(folder: StoragePath, path: StoragePath, *, data: Layout) -> StoragePath:
    """The path below `folder` that `path` has below the dataset; its parent folder is created."""
    target = folder / path.relative_to(data.root)
    target.parent.mkdir(parents=True, exist_ok=True)
    return target
