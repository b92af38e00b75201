"""Validation of a published dataset, as a Beam job over its shards.

shards ─► inspect each: files, framing, schema, values, manifest ─► verdicts
             └► (id, stem) and (audio sha256, split) ─► GroupByKey ─► duplicates, leaks
driver: verdicts and dataset.json ─► totals, statistics, files that nobody listed
"""

from __future__ import annotations

import collections
import datetime
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import apache_beam as beam
import numpy as np

from pipelines.findings import Finding, ShardVerdict, ValidationReport
from pipelines.inspection import Inspection, stated_checks
from pipelines.progress import Tally, show_progress
from pipelines.publish import add_counts
from pipelines.runners import choose_workers, new_job_name, run_graph
from shared.dataset import Dataset, LanguageInfo, ShardInfo, SpeakerInfo, mel_statistics
from shared.errors import UserError
from shared.files import write_json
from shared.languages import CODES, language_id
from shared.layout import Layout
from shared.order import speaker_id
from shared.vocabulary import Vocabulary

STATISTICS_TOLERANCE = 1e-6
PROGRESS = "progress"


def validate_dataset(data: Path, *, runner: str = "local", workers: int | None = None) -> ValidationReport:
    """Inspect everything, write the report below `data/validation`, return it.

    Raises:
        UserError: there is no published dataset of this schema at `data`.
    """
    started_s = time.monotonic()
    dataset = Dataset.open(data)
    stated_checks(dataset)
    shards, records = dataset.info.shards, sum(shard.records for shard in dataset.info.shards)
    work = _work_folder(dataset.layout)
    try:
        with show_progress(work / PROGRESS, label=f"{records} records, {len(shards)} shards", total=records):
            run_graph(
                lambda pipeline: validation_graph(pipeline, dataset, work=work),
                runner=runner,
                workers=choose_workers(workers, utterances=records, runner=runner),
                name=new_job_name("validate"),
            )
        verdicts = [ShardVerdict.model_validate_json(path.read_bytes()) for path in sorted(work.glob("*.verdict"))]
        across = [Finding.model_validate_json(path.read_bytes()) for path in sorted(work.glob("*.finding"))]
    finally:
        shutil.rmtree(work)
    report = ValidationReport(
        fingerprint=dataset.info.fingerprint,
        finished=datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
        seconds=round(time.monotonic() - started_s, 3),
        shards=len(shards),
        records=sum(verdict.records for verdict in verdicts),
        bytes=sum(shard.bytes for shard in shards),
        findings=[
            *(one for verdict in verdicts for one in verdict.findings),
            *across,
            *_totals(dataset, verdicts),
        ],
    )
    try:
        write_json(report_path(dataset.layout, report), report)
    except OSError as error:
        raise UserError(_disk_message(error, where=str(dataset.layout.root))) from error
    return report


def report_path(layout: Layout, report: ValidationReport) -> Path:
    """Where the report of this run lies."""
    return layout.root / "validation" / f"{report.finished.replace(':', '-')}.json"


def _work_folder(layout: Layout) -> Path:
    folder = layout.root / "validation"
    try:
        folder.mkdir(exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=".work-", dir=folder))
    except OSError as error:
        raise UserError(f"{folder}: {error.strerror}; validation writes its report there") from error


def validation_graph(pipeline: beam.Pipeline, dataset: Dataset, *, work: Path) -> None:
    """Verdicts and findings as files in the work folder: the driver can read those on any runner."""
    inspected = (
        pipeline
        | beam.Create(dataset.info.shards)  # ShardInfo
        | beam.Reshuffle()
        | beam.ParDo(InspectShard(dataset, work=work)).with_outputs("claims", main="stems")
    )
    _ = (
        inspected.claims  # ((what, value), (stem, split))
        | beam.GroupByKey()
        | beam.FlatMapTuple(contradictions)  # Finding
        | beam.Map(_write_finding, work=work)
    )


class InspectShard(beam.DoFn):
    """ShardInfo -> its stem, once the verdict is written; `claims` for what must not stand twice."""

    def __init__(self, dataset: Dataset, *, work: Path):
        self._dataset, self._work = dataset, work

    def process(self, shard: ShardInfo) -> Iterator[str | beam.pvalue.TaggedOutput]:
        tally = Tally(self._work / PROGRESS, name=shard.name)
        inspection = Inspection(shard, dataset=self._dataset, tally=tally)
        try:
            write_json(self._work / f"{shard.name}.verdict", inspection.verdict())
        except OSError as error:
            raise UserError(_disk_message(error, where=shard.name)) from error
        yield shard.name
        for claim in inspection.claims():
            yield beam.pvalue.TaggedOutput("claims", (claim, (shard.name, shard.split)))


def _disk_message(error: OSError, *, where: str) -> str:
    return f"{where}: {error.strerror}; there is no verdict; mend the disk or make room, and validate again"


def contradictions(claim: tuple[str, str], places: Iterable[tuple[str, str]]) -> Iterator[Finding]:
    """Findings for an id that stands twice, and for a recording that stands in both splits."""
    kind, value = claim
    found = sorted(places)
    stems, splits = [stem for stem, _ in found], {split for _, split in found}
    if kind == "utterance_id" and len(found) > 1:
        message = f"it stands in {' and '.join(stems)}"
        yield Finding(file=f"shards/{stems[-1]}.tfrecord", check="duplicate", message=message, utterance_id=value)
    if kind == "audio" and len(splits) > 1:
        message = f"one recording (sha256 {value}) stands in training and validation: {' and '.join(stems)}"
        yield Finding(file=f"shards/{stems[-1]}.tfrecord", check="leak", message=message)


def _write_finding(finding: Finding, work: Path) -> None:
    write_json(work / f"{uuid.uuid4().hex}.finding", finding)


def _totals(dataset: Dataset, verdicts: list[ShardVerdict]) -> Iterator[Finding]:
    """What dataset.json says of the whole, and files that it does not say anything of."""
    info, layout = dataset.info, dataset.layout
    name = layout.info.name
    for check, found, wanted in (
        ("languages", add_counts(one.records_by_language for one in verdicts), _records(info.languages)),
        ("speakers", add_counts(one.records_by_speaker for one in verdicts), _records(info.speakers)),
    ):
        for key in sorted(found.keys() | wanted.keys()):
            if found[key] != wanted[key]:
                message = f"{found[key]} records of {key}, dataset.json says {wanted[key]}"
                yield Finding(file=name, check=check, message=message)
    for source_name, source in info.sources.items():
        if not source.read == source.written + source.rejected == sum(s.records + s.rejected for s in source.shards):
            yield Finding(file=name, check="totals", message=f"{source_name}: read is not written + rejected")
    yield from _names(dataset, verdicts)
    yield from _statistics(dataset, verdicts)
    yield from _vocabulary(dataset)
    yield from _strays(dataset)


def _records(table: Mapping[str, LanguageInfo | SpeakerInfo]) -> collections.Counter[str]:
    return collections.Counter({key: value.records for key, value in table.items()})


def _names(dataset: Dataset, verdicts: list[ShardVerdict]) -> Iterator[Finding]:
    """Languages and speakers whose ids are not those of their names, and sources in another language."""
    info, name = dataset.info, dataset.layout.info.name
    for code, language in info.languages.items():
        if code in CODES and language.id != language_id(code):
            yield Finding(file=name, check="languages", message=f"{code} has id {language.id}, not {language_id(code)}")
    for speaker_name, speaker in info.speakers.items():
        if speaker.id != speaker_id(speaker_name):
            yield Finding(file=name, check="speakers", message=f"the id of {speaker_name} is not the hash of its name")
    for source_name, source in info.sources.items():
        stems = {shard.name for shard in source.shards}
        spoken = {code for one in verdicts if one.stem in stems for code in one.records_by_language}
        if spoken != set(source.languages):
            message = f"{source_name} holds {sorted(spoken)}, dataset.json says {sorted(source.languages)}"
            yield Finding(file=name, check="languages", message=message)


def _statistics(dataset: Dataset, verdicts: list[ShardVerdict]) -> Iterator[Finding]:
    train = {shard.name for shard in dataset.info.shards_of("train")}
    chosen = [one for one in verdicts if one.stem in train] or verdicts
    none = [0.0] * dataset.info.contract.features.n_mels
    found = mel_statistics(
        frames=sum(one.frames for one in chosen),
        sums=np.sum([none, *(one.mel_sums for one in chosen)], axis=0),
        squares=np.sum([none, *(one.mel_squares for one in chosen)], axis=0),
    )
    for name in ("mean", "std"):
        ours, stated = getattr(found, name), getattr(dataset.info.mel, name)
        if len(stated) != len(ours) or not np.allclose(stated, ours, rtol=0, atol=STATISTICS_TOLERANCE):
            message = f"mel {name} ({len(stated)} bands) is not that of the records ({len(ours)} bands)"
            yield Finding(file=dataset.layout.info.name, check="statistics", message=message)


def _vocabulary(dataset: Dataset) -> Iterator[Finding]:
    path, info = dataset.layout.vocabulary, dataset.info
    try:
        vocabulary = Vocabulary.load(path)
    except UserError as error:
        yield Finding(file=path.name, check="vocabulary", message=str(error))
        return
    if vocabulary.sha256 != info.vocabulary_sha256 or len(vocabulary) != info.vocabulary_size:
        wanted = f"wanted {info.vocabulary_size}, {info.vocabulary_sha256}"
        message = f"{len(vocabulary)} tokens, sha256 {vocabulary.sha256}; {wanted}"
        yield Finding(file=path.name, check="vocabulary", message=message)


def _strays(dataset: Dataset) -> Iterator[Finding]:
    """Files among the shards and tables that dataset.json does not list."""
    listed = {path for shard in dataset.info.shards for path in dataset.layout.parts(shard.name)}
    for folder in sorted({path.parent for path in dataset.layout.parts("any")}):
        for path in sorted(folder.iterdir() if folder.is_dir() else ()):
            if path not in listed:
                file = str(path.relative_to(dataset.layout.root))
                yield Finding(file=file, check="stray", message="dataset.json does not list this file")
