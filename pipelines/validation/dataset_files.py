"""The files that describe a dataset as a whole, before a shard is looked at: is each what was published?

`_SUCCESS` holds the sha256 of every other file, and dataset.json those of the shards once more, so of three that do not
agree two tell which one was changed. Of dataset.json and config.yaml themselves there is one sum only: one that was
damaged still has most of the digits of the true one, while the sum of another content has 4 of 64 by chance.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import NamedTuple

from pipelines.build.file_sums import stated_sums
from pipelines.validation.findings import Finding
from pipelines.validation.shard_inspection import published_checks
from shared.dataset import Dataset, DatasetInfo, read_info
from shared.errors import UserError
from shared.files import file_sha256
from shared.layout import Layout
from shared.locks import finish_publication
from shared.publication import format_checksums, read_checksums
from shared.storage_path import StoragePath
from shared.vocabulary import Vocabulary

MIN_RIGHT_DIGITS = 32

_SHA256 = re.compile("[0-9a-f]{64}")


class DatasetFiles(NamedTuple):
    """What is known before the shards."""

    info: DatasetInfo | None  # None where dataset.json cannot be read
    is_original: bool  # it is byte for byte what was published
    sums: dict[str, str]  # sha256 by file, as `_SUCCESS` has them
    findings: list[Finding]


def check_dataset_files(layout: Layout) -> DatasetFiles:
    """Everything about the files that describe the dataset.

    Raises:
        UserError: there is no dataset, or it is of another schema version.
    """
    finish_publication(layout)
    if not layout.success.is_file() and not layout.info.is_file():
        Dataset.open(layout.root)  # tells why there is none
    sums = read_checksums(layout.success)
    changed = _changed(layout.info, sums=sums)
    findings = list(changed)
    is_original = not any(one.file == layout.info.name for one in changed)
    info: DatasetInfo | None = None
    if layout.info.is_file():
        try:
            info = read_info(layout.info)
            published_checks(info)
        except UserError as error:
            if is_original and sums:
                raise  # it is what was published, by another version
            info = None
            is_original = False
            if not any(one.check == "unreadable" for one in changed):
                findings.append(Finding(file=layout.info.name, check="unreadable", message=_reason(error, layout.info)))
    findings += _changed(layout.config, sums=sums)
    findings += _vocabulary(layout, info=info, is_original=is_original, sums=sums)
    findings += _success(layout, info=info if is_original else None, sums=sums)
    return DatasetFiles(info, is_original, sums, _unlike(findings))


def is_damaged_sum(stated: str, *, found: str) -> bool:
    """Whether a sum differs from the true one so little that it was that one before it was damaged."""
    return sum(ours == theirs for ours, theirs in zip(stated, found, strict=False)) >= MIN_RIGHT_DIGITS


def _changed(path: StoragePath, *, sums: dict[str, str]) -> list[Finding]:
    """Whether a file is what `_SUCCESS` says, or else which of the two was changed."""
    if not path.is_file():
        return [Finding(file=path.name, check="missing", message="the file is not there")]
    try:
        found = file_sha256(path)
    except OSError as error:
        return [_unreadable(path, error)]
    expected = sums.get(path.name, found)
    if found == expected:
        return []
    if is_damaged_sum(expected, found=found):
        return [_damaged_sums(f"the sum of {path.name} was {found}, and is no more")]
    return [Finding(file=path.name, check="sha256", message=f"sha256 {found}", expected=expected)]


def _unreadable(path: StoragePath, error: OSError) -> Finding:
    return Finding(file=path.name, check="unreadable", message=f"{error.strerror}")


def _damaged_sums(message: str, *, expected: str | None = None) -> Finding:
    return Finding(file="_SUCCESS", check="sums", message=message, expected=expected)


def _success(layout: Layout, *, info: DatasetInfo | None, sums: dict[str, str]) -> Iterator[Finding]:
    """Whether `_SUCCESS` is what it should be beside a dataset.json that is (`info`)."""
    if not layout.success.is_file():
        yield Finding(file=layout.success.name, check="missing", message="the file is not there")
        return
    try:
        written = layout.success.read_bytes()
    except OSError as error:
        yield _unreadable(layout.success, error)
        return
    if written != format_checksums(sums) or not all(map(_SHA256.fullmatch, sums.values())):
        yield _damaged_sums("not what sha256sum writes, in the order of names")
    if info is not None:
        stated = stated_sums(info, layout=layout)
        own = {layout.info.name, layout.config.name}
        wrong = sorted({name for name in stated.keys() | sums.keys() - own if stated.get(name) != sums.get(name)})
        missing = sorted(own - sums.keys())
        if wrong or missing:
            name = (wrong or missing)[0]
            message = f"{len(wrong) + len(missing)} sums are not those of dataset.json; of {name} {sums.get(name)}"
            yield _damaged_sums(message, expected=stated.get(name, "a sum"))


def _vocabulary(
    layout: Layout, *, info: DatasetInfo | None, is_original: bool, sums: dict[str, str]
) -> Iterator[Finding]:
    path = layout.vocabulary
    if not path.is_file():
        yield Finding(file=path.name, check="missing", message="the file is not there")
        return
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        yield _unreadable(path, error)
        return
    stated = info.vocabulary_sha256 if info is not None else None
    listed = sums.get(path.name)
    expected = stated if is_original else listed or stated
    if expected is not None and found != expected:
        if not is_original and (found == stated or is_damaged_sum(expected, found=found)):
            yield _damaged_sums(f"the sum of {path.name} was {found}, and is no more")
        else:
            yield Finding(file=path.name, check="sha256", message=f"sha256 {found}", expected=expected)
    try:
        size = len(Vocabulary.load(path))
    except UserError as error:
        yield Finding(file=path.name, check="vocabulary", message=_reason(error, path))
        return
    if info is not None and found == stated and size != info.vocabulary_size:
        message = f"it says {info.vocabulary_size} tokens"
        yield Finding(file=layout.info.name, check="vocabulary", message=message, expected=str(size))


def _reason(error: UserError, path: StoragePath) -> str:
    return str(error).removeprefix(f"{path}: ").partition("; run `make")[0]


def _unlike(findings: list[Finding]) -> list[Finding]:
    return list(dict.fromkeys(findings))
