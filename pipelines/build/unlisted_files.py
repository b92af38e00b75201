"""Files at the place of a dataset that are not known to be its own: no build may remove or replace them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from pipelines.validation.dataset_files import stated_sums
from shared.dataset import DatasetInfo, read_info
from shared.errors import UserError
from shared.layout import Layout, is_dataset_file
from shared.publication import read_checksums
from shared.storage_path import StoragePath


def listed_files(data: Layout) -> set[StoragePath]:
    """The files that the published dataset says are its own, as far as it can still say."""
    return _listed(data, info=_info(data))


def _listed(data: Layout, *, info: DatasetInfo | None) -> set[StoragePath]:
    stated = stated_sums(info, layout=data) if info is not None else {}
    return {data.root / name for name in (*read_checksums(data.success), *stated) if is_dataset_file(name)}


def refuse_strangers(data: Layout, *, stems: Iterable[str]) -> None:
    """Whether these shards can be built here.

    Of a dataset that cannot say any more what its files are, all that have the name of one count as its own.

    Raises:
        UserError: a file is in the way that no dataset here lists.
    """
    info = _info(data)
    listed = _listed(data, info=info)
    is_dataset = bool(listed) or (data.success.is_file() and data.info.is_file())
    if not is_dataset and (found := next(_occupied(data), None)):
        message = f"there is no dataset here, but {found.relative_to(data.root)}, which a build would replace"
        raise UserError(f"{data.root}: {message}; wanted a folder of its own: give another DATA, or move it away")
    if data.success.is_file() and info is not None:
        planned = {path for stem in stems for path in data.shard_files(stem)} - listed
        if found := next((path for path in _in_folders(data) if path in planned), None):
            message = "the build would replace it, and it is none of the dataset's files"
            raise UserError(f"{found}: {message}; move it away, or `make repair` puts it into quarantine")


def _info(data: Layout) -> DatasetInfo | None:
    with contextlib.suppress(UserError):
        return read_info(data.info)
    return None


def _occupied(data: Layout) -> Iterator[StoragePath]:
    """What has one of the names that a build gives."""
    yield from (path for path in (*data.dataset_files, data.report) if path.exists())
    yield from _in_folders(data)


def _in_folders(data: Layout) -> Iterator[StoragePath]:
    for folder in data.folders:
        if folder.exists():
            yield from sorted(folder.iterdir()) if folder.is_dir() else [folder]
