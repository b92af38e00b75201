"""Checks the dataset-wide files: dataset.json, config.yaml, vocab.json and `_SUCCESS`.

`_SUCCESS` holds the sha256 of every other file, and dataset.json holds those of the shards once more: if one of the
three disagrees, the other two tell which was changed. For dataset.json and config.yaml there is only the sum in
`_SUCCESS`. If that sum was damaged, most of its 64 digits still equal those of the actual sum, whereas sums of
different content agree in 4 digits on average.
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
    """State of the dataset-wide files, determined before any shard is read."""

    info: DatasetInfo | None  # None if dataset.json cannot be read
    is_original: bool  # dataset.json is byte for byte as published
    sums: dict[str, str]  # sha256 by file, as `_SUCCESS` has them
    findings: list[Finding]


def check_dataset_files(layout: Layout) -> DatasetFiles:
    """Check the dataset-wide files.

    Raises:
        UserError: there is no dataset, or it has another schema version.
    """
    finish_publication(layout)
    if not layout.success.is_file() and not layout.info.is_file():
        Dataset.open(layout.root)  # raises the reason
    sums = read_checksums(layout.success)
    changed = _compare_sum(layout.info, sums=sums)
    findings = list(changed)
    is_original = not any(one.file == layout.info.name for one in changed)
    info: DatasetInfo | None = None
    if layout.info.is_file():
        try:
            info = read_info(layout.info)
            published_checks(info)
        except UserError as error:
            if is_original and sums:
                raise  # published by another version of this software
            info = None
            is_original = False
            if not any(one.check == "unreadable" for one in changed):
                findings.append(Finding(file=layout.info.name, check="unreadable", message=_reason(error, layout.info)))
    findings += _compare_sum(layout.config, sums=sums)
    findings += _vocabulary(layout, info=info, is_original=is_original, sums=sums)
    findings += _success(layout, info=info if is_original else None, sums=sums)
    return DatasetFiles(info, is_original, sums, _unique(findings))


def is_damaged_sum(stated: str, *, found: str) -> bool:
    """True if so many digits agree that the stated sum is a damaged copy of the sum that was found."""
    return sum(ours == theirs for ours, theirs in zip(stated, found, strict=False)) >= MIN_RIGHT_DIGITS


def _compare_sum(path: StoragePath, *, sums: dict[str, str]) -> list[Finding]:
    """Compare a file with its sum in `_SUCCESS`; if they differ, decide which of the two was changed."""
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
        return [_sums_finding(f"the sum of {path.name} was {found}, but is damaged")]
    return [Finding(file=path.name, check="sha256", message=f"sha256 {found}", expected=expected)]


def _unreadable(path: StoragePath, error: OSError) -> Finding:
    return Finding(file=path.name, check="unreadable", message=f"{error.strerror}")


def _sums_finding(message: str, *, expected: str | None = None) -> Finding:
    return Finding(file="_SUCCESS", check="sums", message=message, expected=expected)


def _success(layout: Layout, *, info: DatasetInfo | None, sums: dict[str, str]) -> Iterator[Finding]:
    """Check `_SUCCESS`; `info` is given if dataset.json is the published one."""
    if not layout.success.is_file():
        yield Finding(file=layout.success.name, check="missing", message="the file is not there")
        return
    try:
        written = layout.success.read_bytes()
    except OSError as error:
        yield _unreadable(layout.success, error)
        return
    if written != format_checksums(sums) or not all(map(_SHA256.fullmatch, sums.values())):
        yield _sums_finding("not what sha256sum writes, in the order of names")
    if info is not None:
        stated = stated_sums(info, layout=layout)
        own = {layout.info.name, layout.config.name}
        wrong = sorted({name for name in stated.keys() | sums.keys() - own if stated.get(name) != sums.get(name)})
        missing = sorted(own - sums.keys())
        if wrong or missing:
            name = (wrong or missing)[0]
            message = f"{len(wrong) + len(missing)} sums differ from dataset.json; that of {name} is {sums.get(name)}"
            yield _sums_finding(message, expected=stated.get(name, "a sum"))


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
            yield _sums_finding(f"the sum of {path.name} was {found}, but is damaged")
        else:
            yield Finding(file=path.name, check="sha256", message=f"sha256 {found}", expected=expected)
    try:
        size = len(Vocabulary.load(path))
    except UserError as error:
        yield Finding(file=path.name, check="vocabulary", message=_reason(error, path))
        return
    if info is not None and found == stated and size != info.vocabulary_size:
        message = f"it states {info.vocabulary_size} tokens"
        yield Finding(file=layout.info.name, check="vocabulary", message=message, expected=str(size))


def _reason(error: UserError, path: StoragePath) -> str:
    return str(error).removeprefix(f"{path}: ").partition("; run `make")[0]


def _unique(findings: list[Finding]) -> list[Finding]:
    return list(dict.fromkeys(findings))
