"""Validation of a published dataset, as a Beam job over its shards.

driver: is dataset.json what was published? files that nobody listed
shards ─► inspect each: files, framing, schema, values, manifest ─┬► sums ─► combined ─► totals, tables, statistics
          (or trust what was found clean and is unchanged)        └► hashes ─► grouped ─► duplicates, leaks
driver: findings from the files that the graph left in the work folder ─► report
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import json
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import apache_beam as beam
import click

from pipelines.execution.progress import show_progress
from pipelines.execution.progress_counter import ProgressCounter
from pipelines.execution.runners import choose_workers, new_job_name, run_graph
from pipelines.validation.blame import with_sums, without_doubtful
from pipelines.validation.clean_cache import CachedVerdict, read_clean_cache, write_clean_cache
from pipelines.validation.cross_shard import GroupKey, ShardHashes, count_groups, find_conflicts, shard_hashes
from pipelines.validation.dataset_files import DatasetFiles, check_dataset_files
from pipelines.validation.findings import Finding, ShardVerdict, ValidationReport
from pipelines.validation.integrity import has_complete_listing
from pipelines.validation.manifest_rows import read_compared_columns
from pipelines.validation.recordings import recordings_state
from pipelines.validation.remedies import with_fix
from pipelines.validation.reports import write_report
from pipelines.validation.shard_inspection import ShardInspection
from pipelines.validation.totals import SumTotals, Totals, check_totals
from pipelines.validation.workdir import new_workdir
from shared.dataset import ShardInfo
from shared.errors import UserError
from shared.files import file_sha256, write_bytes, write_json
from shared.layout import Layout
from shared.storage_path import StoragePath

PROGRESS = "progress"
_READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)

# A record is read some 50 times faster than an utterance is made one.
RECORDS_PER_UTTERANCE = 50


class ValidationInputs(NamedTuple):
    """What the graph needs to know."""

    layout: Layout
    published: DatasetFiles
    work: StoragePath
    trust: dict[str, CachedVerdict]

    @property
    def shards(self) -> list[ShardInfo]:
        """Each shard once, also where an edited dataset.json lists it twice."""
        listed = self.published.info.shards if self.published.info is not None else []
        shards = list({shard.name: shard for shard in listed}.values())
        if self.published.is_original:
            return shards
        return [with_sums(shard, layout=self.layout, sums=self.published.sums) for shard in shards]

    @property
    def records(self) -> int:
        return sum(shard.records for shard in self.shards)


def validate_dataset(
    data: StoragePath, *, runner: str = "local", workers: int | None = None, changed: bool = False
) -> ValidationReport:
    """Inspect everything, write the report below `data/validation` if that can be written to, return it.

    With `changed`, a shard whose files are those of the last inspection, which found nothing, is not read again.

    Raises:
        UserError: there is no published dataset of this schema at `data`.
    """
    started_s = time.monotonic()
    layout = Layout(data)
    with _told(str(data)):
        published = check_dataset_files(layout)
    try:
        with _workplace(data, is_local=runner == "local") as (work, is_kept):
            trust = (
                read_clean_cache(layout, info=published.info)
                if changed and published.info and published.is_original
                else {}
            )
            task = ValidationInputs(layout, published, work, trust)
            _run(task, runner=runner, workers=workers)
            report = _report(task, started_s=started_s, is_kept=is_kept)
        if is_kept:
            write_report(layout, report)
    except OSError as error:
        raise UserError(f"{error.filename or data}: {error.strerror}; validation writes its report there") from error
    return report


@contextlib.contextmanager
def _workplace(data: StoragePath, *, is_local: bool) -> Iterator[tuple[StoragePath, bool]]:
    """A folder for the run's files, and whether it is the dataset's own, where the report is kept.

    A dataset that may only be read is validated all the same, on this machine.
    """
    with contextlib.ExitStack() as stack:
        try:
            work, is_kept = stack.enter_context(new_workdir(Layout(data).validation)), True
        except OSError as error:
            if error.errno not in _READ_ONLY or not is_local or not isinstance(data, Path):
                raise
            click.echo(f"{error.filename or data}: {error.strerror}: the report is not kept", err=True)
            work, is_kept = Path(stack.enter_context(tempfile.TemporaryDirectory())), False
        yield work, is_kept


def _run(task: ValidationInputs, *, runner: str, workers: int | None) -> None:
    shards, records = task.shards, task.records
    with show_progress(task.work / PROGRESS, label=f"{records} records, {len(shards)} shards", total=records):
        run_graph(
            lambda pipeline: validation_graph(pipeline, task),
            runner=runner,
            workers=choose_workers(workers, utterances=records // RECORDS_PER_UTTERANCE, runner=runner),
            name=new_job_name("validate"),
        )


def validation_graph(pipeline: beam.Pipeline, task: ValidationInputs) -> None:
    """Verdicts, totals and findings as files in the work folder: the driver can read those on any runner."""
    published, layout, work = task.published, task.layout, task.work
    if published.info is None:
        _ = (
            pipeline
            | beam.Create(sorted(published.sums.items()))  # (file, sha256)
            | beam.Reshuffle()
            | beam.FlatMap(check_sum, layout=layout)  # Finding
            | beam.Map(_write_finding, work=work)
        )
        return
    inspected = (
        pipeline
        | beam.Create([(shard, task.trust.get(shard.name)) for shard in task.shards])
        | beam.Reshuffle()
        | beam.ParDo(InspectShards(task, groups=count_groups(task.records))).with_outputs("hashes", main="verdicts")
    )
    across = (
        inspected.hashes  # (group, ShardHashes)
        | beam.GroupByKey()
        | beam.FlatMap(find_conflicts, layout=layout)  # Finding
    )
    totals = (
        inspected.verdicts  # ShardVerdict
        | beam.CombineGlobally(SumTotals())  # Totals
        | beam.Map(_write_totals, work=work)
        | beam.FlatMap(check_totals, info=published.info, file=layout.info.name)  # Finding
    )
    _ = (across, totals) | beam.Flatten() | beam.Map(_write_finding, work=work)


class InspectShards(beam.DoFn):
    """(ShardInfo, what may be trusted) -> its verdict, once that is written; `hashes` of what must not stand twice."""

    def __init__(self, task: ValidationInputs, *, groups: int):
        assert task.published.info is not None
        self._layout, self._work, self._info = task.layout, task.work, task.published.info
        self._doubted_sums = None if task.published.is_original else task.published.sums
        self._groups = groups

    def process(
        self, element: tuple[ShardInfo, CachedVerdict | None]
    ) -> Iterator[ShardVerdict | beam.pvalue.TaggedOutput]:
        shard, trust = element
        with _told(shard.name):
            counter = ProgressCounter(self._work / PROGRESS, name=shard.name)
            verdict, hashes = self._trusted(shard, trust=trust, counter=counter) or self._inspected(
                shard, counter=counter
            )
            write_json(self._work / f"{shard.name}.verdict", verdict, durable=False)
        yield verdict.model_copy(update={"findings": []})
        for group, packed in hashes:
            yield beam.pvalue.TaggedOutput("hashes", (group, packed))

    def _trusted(
        self, shard: ShardInfo, *, trust: CachedVerdict | None, counter: ProgressCounter
    ) -> tuple[ShardVerdict, list[tuple[GroupKey, ShardHashes]]] | None:
        verdict = trust and trust.verdict(shard, layout=self._layout)
        are_data = not self._info.contract.stores_mels  # the recordings
        more = ("audio_path",) if are_data else ()
        table = read_compared_columns(self._layout.manifest(shard.name), more=more) if verdict else None
        if verdict is None or table is None:
            return None
        if are_data and recordings_state(table) != verdict.recordings:
            return None
        counter.add(verdict.sums.records)
        counter.flush()
        return verdict, list(shard_hashes(table, ids=None, stem=shard.name, groups=self._groups))

    def _inspected(
        self, shard: ShardInfo, *, counter: ProgressCounter
    ) -> tuple[ShardVerdict, list[tuple[GroupKey, ShardHashes]]]:
        inspection = ShardInspection(shard, layout=self._layout, info=self._info, counter=counter)
        verdict = inspection.verdict()
        if self._doubted_sums is not None:
            left = without_doubtful(verdict.findings, sums=self._doubted_sums, info=self._layout.info.name)
            verdict = verdict.model_copy(update={"findings": list(left)})
        hashes = shard_hashes(inspection.manifest, ids=inspection.keys, stem=shard.name, groups=self._groups)
        return verdict, list(hashes)


@contextlib.contextmanager
def _told(where: str) -> Iterator[None]:
    """A failing disk is the user's to mend, not a defect."""
    try:
        yield
    except OSError as error:
        message = f"{where}: {error.strerror or error}; there is no verdict; mend the disk or make room"
        raise UserError(f"{message}, and validate again") from error


def check_sum(listed: tuple[str, str], layout: Layout) -> Iterator[Finding]:
    """Whether a file is what `_SUCCESS` says: all that can be known without dataset.json."""
    name, expected = listed
    path = layout.root / name
    if path.parent == layout.root:
        return  # looked at already
    if not path.is_file():
        yield Finding(file=name, stem=path.stem, check="missing", message="the file is not there")
        return
    try:
        found = file_sha256(path)
    except OSError as error:
        yield Finding(file=name, stem=path.stem, check="unreadable", message=f"{error.strerror}")
        return
    if found != expected:
        yield Finding(file=name, stem=path.stem, check="sha256", message=f"sha256 {found}", expected=expected)


def _write_finding(finding: Finding, work: StoragePath) -> None:
    with _told(finding.file):
        write_bytes(work / f"{uuid.uuid4().hex}.finding", finding.model_dump_json().encode(), durable=False)


def _write_totals(totals: Totals, work: StoragePath) -> Totals:
    counts = {"records": totals.records, "trusted": totals.trusted}
    with _told("the totals"):
        write_bytes(work / "totals.json", json.dumps(counts).encode(), durable=False)
    return totals


def _report(task: ValidationInputs, *, started_s: float, is_kept: bool) -> ValidationReport:
    """Everything that was found, and, where that is kept, what may be trusted from now on."""
    published, layout, work = task.published, task.layout, task.work
    across = [Finding.model_validate_json(path.read_bytes()) for path in sorted(work.glob("*.finding"))]
    across.sort(key=lambda one: (one.file, one.check, one.index or 0, one.message))
    verdicts = [work / f"{shard.name}.verdict" for shard in task.shards]
    found = [one for path in verdicts for one in _verdict(path).findings]
    findings = list(dict.fromkeys([*published.findings, *_strays(task), *found, *across]))
    if is_kept and published.info is not None and published.is_original:
        bad = {one.stem for one in findings}
        clean = (verdict for verdict in map(_verdict, verdicts) if verdict.stem not in bad)
        write_clean_cache(layout, info=published.info, clean=clean)
    totals = json.loads((work / "totals.json").read_bytes()) if published.info else {"records": 0, "trusted": 0}
    return ValidationReport(
        fingerprint=published.info.fingerprint if published.info else "",
        finished=datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
        seconds=round(time.monotonic() - started_s, 3),
        shards=len(task.shards),
        bytes=sum(shard.bytes for shard in task.shards),
        findings=[with_fix(one, data=layout.root) for one in findings],
        **totals,
    )


def _verdict(path: StoragePath) -> ShardVerdict:
    return ShardVerdict.model_validate_json(path.read_bytes())


def _strays(task: ValidationInputs) -> Iterator[Finding]:
    """What lies among the shards and tables and is not listed, where dataset.json or `_SUCCESS` still lists all."""
    layout = task.layout
    if not has_complete_listing(task.published, layout=layout):
        return
    listed = {path for shard in task.shards for path in layout.shard_files(shard.name)}
    listed |= {layout.root / name for name in task.published.sums}
    for folder in layout.folders:
        for path in sorted(folder.iterdir() if folder.is_dir() else ()):
            if path not in listed:
                file = str(path.relative_to(layout.root))
                yield Finding(file=file, check="stray", message="nothing lists this file")
