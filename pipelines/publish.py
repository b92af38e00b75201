"""The end of a build: every shard is in; count, judge, and only then publish.

A file gets its final name only after everything was checked, and `_SUCCESS` only after every file has its
name. From the removal of the old `_SUCCESS` to the writing of the new one there are renames only.
"""

from __future__ import annotations

import collections
import datetime
import filecmp
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from pipelines.config import BuildConfig
from pipelines.plan import Plan
from pipelines.settle import ShardReport
from pipelines.staging import Staging
from preprocess.tokens import Tokenizer
from shared.dataset import (
    Contract,
    DatasetInfo,
    LanguageInfo,
    Layout,
    MelStatistics,
    Selection,
    SourceInfo,
    SpeakerInfo,
    Stem,
    Times,
    mel_statistics,
)
from shared.errors import UserError
from shared.files import sync, write_bytes, write_json
from shared.languages import language_id
from shared.order import speaker_id


def collect_reports(plan: Plan, *, staging: Staging) -> list[ShardReport]:
    """The reports of all planned shards, in the order of their names.

    Raises:
        UserError: not what was listed was written or rejected.
    """
    paths = [staging.report(str(stem)) for stem in plan.stems()]
    reports = [ShardReport.model_validate_json(path.read_bytes()) for path in paths]
    seen = sum(report.info.records + report.info.rejected for report in reports)
    if seen != plan.listed:
        raise UserError(
            f"{plan.listed} utterances were listed but {seen} written or rejected: the corpus changed while it was "
            "read; nothing was published; run the build again"
        )
    return reports


def check_budget(reports: Sequence[ShardReport], *, config: BuildConfig, staging: Staging) -> None:
    """Raises UserError where more was rejected than the config allows, in all or of one language."""
    written = add_counts(report.records_by_language for report in reports)
    rejected = add_counts(report.faults_by_language for report in reports)
    languages = sorted(rejected.keys() - {""})  # rows that name none count in all only
    for name, bad, good in [
        ("all", rejected.total(), written.total()),
        *((language, rejected[language], written[language]) for language in languages),
    ]:
        if bad and bad / (bad + good) > config.max_rejected_fraction:
            listed = staging.layout.rejected("any").parent
            raise UserError(
                f"{bad} of {bad + good} utterances ({name}) were rejected: {_reasons(reports)}; "
                f"at most {config.max_rejected_fraction:.1%} are allowed (max_rejected_fraction); "
                f"each is listed in {listed}; nothing was published"
            )
    if not written:
        raise UserError("no utterance was written; nothing was published")


def _reasons(reports: Sequence[ShardReport]) -> str:
    counts = add_counts(report.faults_by_reason for report in reports)
    return ", ".join(f"{count} {reason}" for reason, count in counts.most_common())


def publish(
    reports: Sequence[ShardReport],
    *,
    config: BuildConfig,
    contract: Contract,
    tokenizer: Tokenizer,
    data: Layout,
    staging: Staging,
    seconds: float,
) -> DatasetInfo:
    """Describe the dataset, give the staged files their names, remove those of an older build."""
    used = {token for report in reports for token in report.token_ids}
    languages = add_counts(report.records_by_language for report in reports)
    vocabulary = tokenizer.compact_vocabulary(used, languages=languages)
    selection = Selection(
        checks=config.checks.model_dump(mode="json"), characters_per_second=json.loads(staging.rates.read_bytes())
    )
    info = describe(
        reports,
        config=config,
        contract=contract,
        vocabulary_size=len(vocabulary),
        vocabulary_sha256=vocabulary.sha256,
        selection=selection,
        seconds=seconds,
    )
    # all that takes room is written before the older dataset is touched
    staged = staging.layout
    write_bytes(staged.vocabulary, vocabulary.to_json())
    write_json(staged.info, info)
    write_bytes(staged.success, f"{info.fingerprint}\n".encode())
    folders = sorted({path.parent for path in data.parts("any")})
    for folder in folders:
        folder.mkdir(exist_ok=True)
    changed = list(_changed_files(info, staged=staged, data=data))
    data.success.unlink(missing_ok=True)
    kept = {path for shard in info.shards for path in data.parts(shard.name)}
    for source, target in changed:
        source.replace(target)
    for folder in folders:
        _remove_others(folder, kept=kept)
    staged.vocabulary.replace(data.vocabulary)
    staged.info.replace(data.info)
    for folder in (*folders, data.root):
        sync(folder)
    staged.success.replace(data.success)
    staging.sweep()
    return info


def _changed_files(info: DatasetInfo, *, staged: Layout, data: Layout) -> Iterable[tuple[Path, Path]]:
    """(staged, final) of all files but those that stand there byte for byte: they are left alone."""
    for shard in info.shards:
        for source, target in zip(staged.parts(shard.name), data.parts(shard.name), strict=True):
            if source.exists() and not (target.is_file() and filecmp.cmp(source, target, shallow=False)):
                yield source, target


def describe(
    reports: Sequence[ShardReport],
    *,
    config: BuildConfig,
    contract: Contract,
    vocabulary_size: int,
    vocabulary_sha256: str,
    selection: Selection,
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
        selection=selection,
        times=Times(finished=now, seconds=round(seconds, 3)),
    )


def _source(name: str, *, reports: Sequence[ShardReport], config: BuildConfig) -> SourceInfo:
    mine = [report for report in reports if Stem.parse(report.info.name).source == name]
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


def _remove_others(folder: Path, *, kept: set[Path]) -> None:
    for path in folder.iterdir():
        if path not in kept and not path.is_dir():
            path.unlink()
