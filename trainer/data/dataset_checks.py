"""Checks before training starts: the folder is a published dataset whose files did not change."""

from __future__ import annotations

from pathlib import Path

from shared.dataset import Dataset
from shared.errors import UserError
from shared.files import file_sha256
from shared.layout import Layout
from shared.messages import counted, first_few
from shared.publication import read_checksums
from shared.storage_path import StoragePath

MAX_NAMED = 3  # folders or files in a message


def open_dataset(data: Path) -> Dataset:
    """Open a dataset to train on.

    Raises:
        UserError: there is none, it lies in a folder below, other shards lie in it, it has no training record, or its
            metadata differs from what was published.
    """
    try:
        dataset = Dataset.open(data)
    except UserError as error:
        below = sorted(path.parent.name for path in data.glob("*/_SUCCESS"))
        if not below or Layout(data).info.exists():
            raise
        one = "a dataset" if len(below) == 1 else f"{len(below)} datasets"
        raise UserError(
            f"{data}: a folder of {one} ({first_few(below, most=MAX_NAMED)}), none itself; "
            f"train on one, DATA={data / below[0]}"
        ) from error
    _refuse_changes(dataset)
    _refuse_unlisted_shards(dataset)
    if not any(shard.records for shard in dataset.info.shards_of("train")):
        raise UserError(
            f"{data}: no training record in {counted(len(dataset.info.shards), 'shard')}; "
            "are validation_fraction and test_fraction too high, or were all rejected (`make report` has the reasons)?"
        )
    return dataset


def _refuse_changes(dataset: Dataset) -> None:
    """Compare dataset.json with `_SUCCESS`, and vocabulary and manifests with dataset.json.

    Training would not notice most changes: with another number in the vocabulary, a token gets another's embedding.
    """
    layout, info = dataset
    stated = read_checksums(layout.success).get(layout.info.name)
    if stated is None:
        raise UserError(f"{layout.success}: no sha256 of {layout.info.name} in it; {_remedy(layout)}")
    _refuse_change(layout.info, sha256=stated, layout=layout)
    _refuse_change(layout.vocabulary, sha256=info.vocabulary_sha256, layout=layout)
    for shard in info.shards:
        _refuse_change(layout.manifest(shard.name), sha256=shard.manifest_sha256, layout=layout)


def _refuse_change(path: StoragePath, *, sha256: str, layout: Layout) -> None:
    try:
        found = file_sha256(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); {_remedy(layout)}") from error
    if found != sha256:
        raise UserError(
            f"{path}: not the file that was published: sha256 {found}, expected {sha256}; {_remedy(layout)}"
        )


def _remedy(layout: Layout) -> str:
    return f"run `make validate DATA={layout.root}`, then `make repair DATA={layout.root}`"


def _refuse_unlisted_shards(dataset: Dataset) -> None:
    """Raise UserError if someone copied two datasets into one folder; training would ignore the second one."""
    known = {dataset.layout.shard(shard.name) for shard in dataset.info.shards}
    unlisted = sorted(path.name for path in (dataset.layout.root / "shards").glob("*.tfrecord") if path not in known)
    if unlisted:
        raise UserError(
            f"{dataset.layout.root}: {counted(len(unlisted), 'file')} in shards/ of another dataset "
            f"({first_few(unlisted, most=MAX_NAMED)}), which dataset.json does not list; "
            "move them away: two datasets are joined by naming both as sources of one build"
        )


def refuse_missing_shards(dataset: Dataset, *, split: str) -> None:
    """Raise UserError if a shard of the split is absent, or its size is not the one in dataset.json."""
    remedy = _remedy(dataset.layout)
    for shard in dataset.info.shards_of(split):
        path = dataset.layout.shard(shard.name)
        try:
            found = path.stat().st_size
        except OSError as error:
            raise UserError(f"{path}: a shard cannot be read ({error.strerror}); {remedy}") from error
        if found != shard.bytes:
            raise UserError(f"{path}: a shard of {found} bytes, expected {shard.bytes}; {remedy}")
