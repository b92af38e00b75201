"""The end of a build: every shard is in; count, judge, and only then publish.

Whatever takes room is written before the older dataset is touched. A file that stands there byte for byte is left
alone.
"""

from __future__ import annotations

import collections
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np

from pipelines.build.shard_plan import Plan
from pipelines.build.staging import Staging
from pipelines.build.unlisted_files import listed_files
from pipelines.build.write_shards import ShardReport
from pipelines.config import BuildConfig, config_document
from preprocess.tokens import Tokenizer
from shared.dataset import (
    Contract,
    DatasetInfo,
    LanguageInfo,
    MelStatistics,
    SelectionCriteria,
    SourceInfo,
    SpeakerInfo,
    mel_statistics,
)
from shared.errors import UserError
from shared.files import file_sha256, has_same_bytes, link_file, write_bytes, write_json
from shared.hashing import speaker_id
from shared.languages import language_id
from shared.layout import Layout, ShardName
from shared.publication import format_checksums, publish_files
from shared.storage_path import StoragePath


def collect_reports(plan: Plan, *, staging: Staging) -> list[ShardReport]:
    """The reports of all planned shards, in the order of their names."""
    paths = [staging.report(str(stem)) for stem in plan.stems()]
    return [ShardReport.model_validate_json(path.read_bytes()) for path in paths]


def check_counts(reports: Iterable[ShardReport], *, listed: int) -> None:
    """Raises UserError where not what was listed for these shards was written or rejected."""
    seen = sum(report.info.records + report.info.rejected for report in reports)
    if seen != listed:
        raise UserError(
            f"{listed} utterances were listed but {seen} written or rejected: the corpus changed while it was "
            "read; nothing was published; run it again"
        )


def check_budget(reports: Sequence[ShardReport], *, config: BuildConfig, rejected: StoragePath) -> None:
    """Raises UserError where more was rejected than the config allows, in all or of one language."""
    written = add_counts(report.records_by_language for report in reports)
    faults = add_counts(report.faults_by_language for report in reports)
    languages = sorted(faults.keys() - {""})  # rows that name none count in all only
    for name, bad, good in [
        ("all", faults.total(), written.total()),
        *((language, faults[language], written[language]) for language in languages),
    ]:
        if bad and bad / (bad + good) > config.max_rejected_fraction:
            raise UserError(
                f"{bad} of {bad + good} utterances ({name}) were rejected: {_reasons(reports)}; "
                f"at most {config.max_rejected_fraction:.1%} are allowed (max_rejected_fraction); "
                f"each is listed in {rejected}; nothing was published"
            )
    if not written:
        raise UserError("no utterance was written; nothing was published")


def _reasons(reports: Sequence[ShardReport]) -> str:
    counts = add_counts(report.faults_by_reason for report in reports)
    return ", ".join(f"{count} {reason}" for reason, count in counts.most_common())


class Published(NamedTuple):
    """What a job made of the dataset."""

    info: DatasetInfo
    changed: tuple[str, ...]  # files that it wrote or removed, relative to the dataset


def publish(info: DatasetInfo, *, data: Layout, staging: Staging, keep_in: StoragePath | None = None) -> Published:
    """Give the staged files of a described dataset their names, remove those that the older one lists.

    With `keep_in`, what is replaced or removed is first linked below it; what nothing lists, and what is no file, is
    moved there.
    """
    stems = [shard.name for shard in info.shards]
    for folder in data.folders:
        folder.mkdir(exist_ok=True)
    moves = list(_changed_files(stems, staged=staging.layout, data=data))
    kept, listed = {path for stem in stems for path in data.shard_files(stem)}, listed_files(data)
    removals = [path for path in sorted(listed - kept - set(data.dataset_files)) if path.exists()]
    touched = [*removals, *(target for _, target in moves)]
    strays = list(_strays(data, listed=kept | listed)) if keep_in is not None else []
    if keep_in is not None:
        _keep(touched, data=data, folder=keep_in)
        _put_away([*strays, *filter(_is_no_file, touched)], data=data, folder=keep_in)
    if touched:
        moves = [move for move in moves if move[1] != data.success] + [(staging.layout.success, data.success)]
        publish_files(data, moves=moves, removals=removals)
    _sweep(staging)
    changed = (path.relative_to(data.root).as_posix() for path in (*touched, *strays))
    return Published(info, tuple(sorted(changed)))


def _sweep(staging: Staging) -> None:
    """The dataset is published by now, whatever becomes of what was needed on the way to it."""
    try:
        staging.sweep()
    except OSError as error:
        left = f"{error.filename or staging.root.parent}: {error.strerror}"
        click.echo(f"published; {left}: could not be removed, the next build does it", err=True)


def stage_description(
    reports: Sequence[ShardReport], *, config: BuildConfig, contract: Contract, tokenizer: Tokenizer, staging: Staging
) -> DatasetInfo:
    """Write the files that are of the dataset as a whole, with the sums of all."""
    used = {token for report in reports for token in report.token_ids}
    languages = add_counts(report.records_by_language for report in reports)
    vocabulary = tokenizer.compact_vocabulary(used, languages=languages)
    rates = json.loads(staging.rates.read_bytes())
    info = describe(
        reports,
        config=config,
        contract=contract,
        vocabulary_size=len(vocabulary),
        vocabulary_sha256=vocabulary.sha256,
        selection=SelectionCriteria(checks=config.checks.model_dump(mode="json"), characters_per_second=rates),
    )
    staged = staging.layout
    write_bytes(staged.vocabulary, vocabulary.to_json())
    write_bytes(staged.config, config_document(config))
    write_json(staged.info, info)
    write_bytes(staged.success, format_checksums(sums_of(info, layout=staged)))
    return info


def sums_of(info: DatasetInfo, *, layout: Layout) -> dict[str, str]:
    """The sha256 of every file of a dataset but `_SUCCESS`, by its name."""
    whole = {path.name: file_sha256(path) for path in (layout.info, layout.vocabulary, layout.config)}
    for shard in info.shards:
        names = (path.relative_to(layout.root).as_posix() for path in layout.shard_files(shard.name))
        whole.update(zip(names, shard.sha256_of_files(), strict=True))
    return whole


def _changed_files(stems: Sequence[str], *, staged: Layout, data: Layout) -> Iterator[tuple[StoragePath, StoragePath]]:
    """(staged, final) of all files but those that stand there byte for byte: they are left alone."""
    pairs = [
        *(pair for stem in stems for pair in zip(staged.shard_files(stem), data.shard_files(stem), strict=True)),
        (staged.vocabulary, data.vocabulary),
        (staged.config, data.config),
        (staged.info, data.info),
        (staged.success, data.success),
    ]
    for source, target in pairs:
        if source.exists() and not (target.is_file() and _is_same(source, target)):
            yield source, target


def _is_same(source: StoragePath, target: StoragePath) -> bool:
    """Not so where the one that stands there cannot be read."""
    try:
        return has_same_bytes(source, target)
    except OSError:
        return False


def _strays(data: Layout, *, listed: set[StoragePath]) -> Iterator[StoragePath]:
    return (path for folder in data.folders for path in sorted(folder.iterdir()) if path not in listed)


def _keep(paths: Iterable[StoragePath], *, data: Layout, folder: StoragePath) -> None:
    for path in paths:
        if path.is_file():
            link_file(path, _kept(path, data=data, folder=folder))


def _put_away(paths: Iterable[StoragePath], *, data: Layout, folder: StoragePath) -> None:
    for path in paths:
        kept = _kept(path, data=data, folder=folder)
        path.rename(kept) if path.is_dir() else path.replace(kept)


def _is_no_file(path: StoragePath) -> bool:
    """A folder, a pipe or a link that leads nowhere."""
    return isinstance(path, Path) and os.path.lexists(path) and not path.is_file()


def _kept(path: StoragePath, *, data: Layout, folder: StoragePath) -> StoragePath:
    kept = folder / path.relative_to(data.root)
    kept.parent.mkdir(parents=True, exist_ok=True)
    return kept


def describe(
    reports: Sequence[ShardReport],
    *,
    config: BuildConfig,
    contract: Contract,
    vocabulary_size: int,
    vocabulary_sha256: str,
    selection: SelectionCriteria,
) -> DatasetInfo:
    """The content of `dataset.json`."""
    return DatasetInfo(
        fingerprint=contract.fingerprint,
        contract=contract,
        sources={name: _source(name, reports=reports, config=config) for name in sorted(config.sources)},
        languages={
            code: LanguageInfo(id=language_id(code), records=count)
            for code, count in sorted(add_counts(report.records_by_language for report in reports).items())
        },
        speakers=_speakers(add_counts(report.records_by_speaker for report in reports)),
        vocabulary_size=vocabulary_size,
        vocabulary_sha256=vocabulary_sha256,
        mel=_train_statistics(reports, n_mels=contract.features.n_mels),
        selection=selection,
    )


def _source(name: str, *, reports: Sequence[ShardReport], config: BuildConfig) -> SourceInfo:
    mine = [report for report in reports if ShardName.parse(report.info.name).source == name]
    shards = tuple(report.info for report in mine)
    written, rejected = sum(shard.records for shard in shards), sum(shard.rejected for shard in shards)
    source = config.sources[name]
    return SourceInfo(
        reader=source.reader,
        languages=tuple(sorted(add_counts(report.records_by_language for report in mine))),
        weight=source.weight,
        read=written + rejected,
        written=written,
        rejected=rejected,
        shards=shards,
    )


def _speakers(records: collections.Counter[str]) -> dict[str, SpeakerInfo]:
    speakers = {name: SpeakerInfo(id=speaker_id(name), records=count) for name, count in sorted(records.items())}
    if len({speaker.id for speaker in speakers.values()}) != len(speakers):
        raise RuntimeError("two speakers have one 63-bit id")
    return speakers


def _train_statistics(reports: Sequence[ShardReport], *, n_mels: int) -> MelStatistics:
    """Over the training split; over all of a dataset that has none. Added up in the order of the shards."""
    chosen = [report for report in reports if report.info.split == "train"] or list(reports)
    sums, squares = np.zeros((2, n_mels), np.float64)
    for report in chosen:
        sums = sums + report.mel_sums
        squares = squares + report.mel_squares
    return mel_statistics(frames=sum(report.info.frames for report in chosen), sums=sums, squares=squares)


def add_counts(counts: Iterable[dict[str, int]]) -> collections.Counter[str]:
    """Counters of several shards as one."""
    total: collections.Counter[str] = collections.Counter()
    for one in counts:
        total.update(one)
    return total
