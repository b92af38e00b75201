"""The files that describe a dataset as a whole: dataset.json, vocab.json, config.yaml and `_SUCCESS`."""

from __future__ import annotations

import collections
import json
from collections.abc import Iterable, Sequence

import numpy as np

from pipelines.build.file_sums import success_sums
from pipelines.build.provenance import MadeBy
from pipelines.build.shard_report import SUM_UNITS, ShardReport
from pipelines.build.staging import Staging
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
from shared.files import write_bytes, write_json
from shared.hashing import speaker_id
from shared.languages import language_id
from shared.layout import ShardName
from shared.publication import format_checksums


def write_dataset_files(
    reports: Sequence[ShardReport],
    *,
    config: BuildConfig,
    contract: Contract,
    tokenizer: Tokenizer,
    made_by: MadeBy,
    staging: Staging,
) -> DatasetInfo:
    """Write the four files into the staging folder, from the reports of all shards."""
    used = {token for report in reports for token in report.totals.records_by_token}
    languages = add_counts(report.records_by_language for report in reports)
    vocabulary = tokenizer.compact_vocabulary(used, languages=languages)
    speech_rates = json.loads(staging.speech_rates_path.read_bytes())
    info = dataset_info(
        reports,
        config=config,
        contract=contract,
        vocabulary_size=len(vocabulary),
        vocabulary_sha256=vocabulary.sha256,
        selection=SelectionCriteria(checks=config.checks.model_dump(mode="json"), characters_per_second=speech_rates),
        made_by=made_by,
    )
    staged = staging.layout
    write_bytes(staged.vocabulary, vocabulary.to_json())
    write_bytes(staged.config, config_document(config))
    write_json(staged.info, info)
    write_bytes(staged.success, format_checksums(success_sums(info, layout=staged)))
    return info


def dataset_info(
    reports: Sequence[ShardReport],
    *,
    config: BuildConfig,
    contract: Contract,
    vocabulary_size: int,
    vocabulary_sha256: str,
    selection: SelectionCriteria,
    made_by: MadeBy,
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
        mel=_mel_statistics(reports, n_mels=contract.features.n_mels),
        selection=selection,
        made_by=dict(made_by),
    )


def _source(name: str, *, reports: Sequence[ShardReport], config: BuildConfig) -> SourceInfo:
    of_source = [report for report in reports if ShardName.parse(report.info.name).source == name]
    shards = tuple(report.info for report in of_source)
    written, rejected = sum(shard.records for shard in shards), sum(shard.rejected for shard in shards)
    source = config.sources[name]
    return SourceInfo(
        reader=source.reader,
        languages=tuple(sorted(add_counts(report.records_by_language for report in of_source))),
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


def _mel_statistics(reports: Sequence[ShardReport], *, n_mels: int) -> MelStatistics:
    """Statistics of the training split, or of all shards without one."""
    chosen = [report for report in reports if report.info.split == "train"] or list(reports)
    return mel_statistics(
        frames=sum(report.info.frames for report in chosen),
        sums=_bands([report.totals.mel_sums for report in chosen], n_mels=n_mels),
        squares=_bands([report.totals.mel_squares for report in chosen], n_mels=n_mels),
    )


def _bands(sums: list[list[int]], *, n_mels: int) -> np.ndarray:
    """The sum of each band over all shards, [M] float64."""
    return np.array([sum(of_shard[band] for of_shard in sums) / SUM_UNITS for band in range(n_mels)], np.float64)


def add_counts(counts: Iterable[dict[str, int]]) -> collections.Counter[str]:
    """The sum of several counters."""
    total: collections.Counter[str] = collections.Counter()
    for one in counts:
        total.update(one)
    return total
