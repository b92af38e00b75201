"""Files in a dataset's folder that the dataset does not list: a build never removes or replaces them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from pipelines.build.file_sums import stated_sums
from shared.dataset import DatasetInfo, read_info
from shared.errors import UserError
from shared.layout import Layout, is_dataset_file
from shared.publication import read_checksums
from shared.storage_path import StoragePath


def listed_files(data: Layout) -> set[StoragePath]:
    """The files that `_SUCCESS` or dataset.json of the published dataset lists; damaged lines are skipped."""
    return _listed(data, info=_info(data))


def _listed(data: Layout, *, info: DatasetInfo | None) -> set[StoragePath]:
    stated = stated_sums(info, layout=data) if info is not None else {}
    return {data.root / name for name in (*read_checksums(data.success), *stated) if is_dataset_file(name)}


def check_unlisted_files(data: Layout, *, shard_names: Iterable[str]) -> None:
    """Check that a build of these shards replaces no unlisted file.

    If neither `_SUCCESS` nor dataset.json can be read, every file with the name of a dataset's file counts as listed.

    Raises:
        UserError: the build would replace an unlisted file.
    """
    info = _info(data)
    listed = _listed(data, info=info)
    is_dataset = bool(listed) or (data.success.is_file() and data.info.is_file())
    if not is_dataset and (found := next(_named_files(data), None)):
        message = f"holds no dataset, but {found.relative_to(data.root)}, which a build would replace"
        raise UserError(f"{data.root}: {message}; expected an empty folder; give another DATA, or move that file away")
    if data.success.is_file() and info is not None:
        planned = {path for name in shard_names for path in data.shard_files(name)} - listed
        if found := next((path for path in _shard_files(data) if path in planned), None):
            message = "a build would replace this file, which the dataset does not list"
            raise UserError(f"{found}: {message}; move it away, or `make repair` puts it into quarantine")


def _info(data: Layout) -> DatasetInfo | None:
    with contextlib.suppress(UserError):
        return read_info(data.info)
    return None


def _named_files(data: Layout) -> Iterator[StoragePath]:
    """Existing files with a name that a build uses."""
    yield from (path for path in (*data.dataset_files, data.report, *data.descriptions) if path.exists())
    yield from _shard_files(data)


def _shard_files(data: Layout) -> Iterator[StoragePath]:
    """Everything in the folders of the shards' files."""
    for folder in data.folders:
        if folder.exists():
            yield from sorted(folder.iterdir()) if folder.is_dir() else [folder]
