"""The end of a build: every shard is in; count, judge, and only then publish.

A file gets its final name only after everything was checked, and `_SUCCESS` only after every file has its
name. From the removal of the old `_SUCCESS` to the writing of the new one there are renames only.
"""

from __future__ import annotations

import collections
import datetime
import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from pipelines.config import BuildConfig
from pipelines.ledger import ShardReport, report_path
from pipelines.plan import Plan
from preprocess.record import Preparation
from preprocess.text import PREPARATION
from shared.dataset import (
    Contract,
    DatasetInfo,
    LanguageInfo,
    Layout,
    MelStatistics,
    SourceInfo,
    SpeakerInfo,
    Stem,
    Times,
    mel_statistics,
    write_bytes,
    write_json,
)
from shared.errors import UserError
from shared.languages import language_id
from shared.order import speaker_id


def collect_reports(plan: Plan, *, staging: Layout) -> list[ShardReport]:
    """The reports of all planned shards, in the order of their names.

    Raises:
        UserError: not what was listed was written or rejected.
    """
    paths = [report_path(staging, str(stem)) for stem in plan.stems()]
    reports = [ShardReport.model_validate_json(path.read_bytes()) for path in paths]
    seen = sum(report.info.records + report.info.rejected for report in reports)
    if seen != plan.listed:
        raise UserError(
            f"{plan.listed} utterances were listed but {seen} written or rejected: the corpus changed while it was "
            "read; nothing was published; run the build again"
        )
    return reports


def check_budget(reports: Sequence[ShardReport], *, config: BuildConfig, staging: Layout) -> None:
    """Raises UserError where more was rejected than the config allows, in all or of one language."""
    written = add_counts(report.records_by_language for report in reports)
    rejected = add_counts(report.rejected_by_language for report in reports)
    for name, bad, good in [
        ("all", rejected.total(), written.total()),
        *((language, rejected[language], written[language]) for language in sorted(rejected)),
    ]:
        if bad > config.max_rejected_fraction * (bad + good):
            raise UserError(
                f"{bad} of {bad + good} utterances ({name}) were rejected: "
                f"{_reasons(reports)}; at most {config.max_rejected_fraction:.1%} are allowed "
                f"(max_rejected_fraction); each is listed in {staging.root / 'rejected'}; nothing was published"
            )
    if not written:
        raise UserError("no utterance was written; nothing was published")


def _reasons(reports: Sequence[ShardReport]) -> str:
    counts = add_counts(report.rejected_by_reason for report in reports)
    return ", ".join(f"{count} {reason}" for reason, count in counts.most_common())


def publish(
    reports: Sequence[ShardReport],
    *,
    config: BuildConfig,
    prepare: Preparation,
    data: Layout,
    staging: Layout,
    seconds: float,
) -> DatasetInfo:
    """Describe the dataset, give the staged files their names, remove those of an older build."""
    used = {token for report in reports for token in report.token_ids}
    languages = add_counts(report.records_by_language for report in reports)
    vocabulary = prepare.tokenizer.compact_vocabulary(used, languages=languages)
    info = describe(
        reports,
        config=config,
        contract=contract_of(prepare),
        vocabulary_size=len(vocabulary),
        vocabulary_sha256=vocabulary.sha256,
        seconds=seconds,
    )
    # all that takes room is written before the older dataset is touched
    write_bytes(staging.vocabulary, vocabulary.to_json())
    write_json(staging.info, info)
    write_bytes(staging.success, f"{info.fingerprint}\n".encode())
    folders = [path.parent for path in data.parts("any")]
    for folder in folders:
        folder.mkdir(exist_ok=True)
    data.success.unlink(missing_ok=True)
    kept = {path for shard in info.shards for path in data.parts(shard.name)}
    for shard in info.shards:
        for staged, final in zip(staging.parts(shard.name), data.parts(shard.name), strict=True):
            staged.replace(final)
    for folder in folders:
        _remove_others(folder, kept=kept)
    staging.vocabulary.replace(data.vocabulary)
    staging.info.replace(data.info)
    for folder in (*folders, data.root):
        _sync_folder(folder)
    staging.success.replace(data.success)
    shutil.rmtree(staging.root)
    return info


def contract_of(prepare: Preparation) -> Contract:
    """What the numbers of the shards will mean."""
    return Contract(
        features=prepare.features,
        mel_dtype=prepare.mel_dtype,
        tokenizer=prepare.tokenizer.identity,
        text_preparation=PREPARATION,
    )


def describe(
    reports: Sequence[ShardReport],
    *,
    config: BuildConfig,
    contract: Contract,
    vocabulary_size: int,
    vocabulary_sha256: str,
    seconds: float,
) -> DatasetInfo:
    """The content of `dataset.json`."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
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
        times=Times(finished=now, seconds=round(seconds, 3)),
    )


def _source(name: str, *, reports: Sequence[ShardReport], config: BuildConfig) -> SourceInfo:
    shards = tuple(report.info for report in reports if Stem.parse(report.info.name).source == name)
    written, rejected = sum(shard.records for shard in shards), sum(shard.rejected for shard in shards)
    source = config.sources[name]
    return SourceInfo(
        reader=source.reader,
        language=source.language,
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


def _remove_others(folder: Path, *, kept: set[Path]) -> None:
    for path in folder.iterdir():
        if path not in kept and not path.is_dir():
            path.unlink()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
