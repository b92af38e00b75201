"""Validates a published dataset, as a Beam job over its shards.

driver: check the dataset-wide files
shards ─► inspect each: files, framing, schema, values, manifest ─┬► totals ─► combined ─► check totals and statistics
          (or take the verdict from the cache of clean shards)    └► hashes ─► grouped ─► duplicates, leaks
driver: unlisted files; findings from the files that the graph wrote to the work folder ─► report
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
from pipelines.validation.blame import reassign_blame, with_success_sums
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

# Validating a record is about 50 times faster than preparing an utterance.
RECORDS_PER_UTTERANCE = 50


class ValidationInputs(NamedTuple):
    """What the graph needs: the dataset, the work folder, and the cached verdicts."""

    layout: Layout
    published: DatasetFiles
    work: StoragePath
    cached: dict[str, CachedVerdict]

    @property
    def shards(self) -> list[ShardInfo]:
        """Each shard once, even if an edited dataset.json lists it twice."""
        listed = self.published.info.shards if self.published.info is not None else []
        shards = list({shard.name: shard for shard in listed}.values())
        if self.published.is_original:
            return shards
        return [with_success_sums(shard, layout=self.layout, sums=self.published.sums) for shard in shards]

    @property
    def records(self) -> int:
        return sum(shard.records for shard in self.shards)


def validate_dataset(
    data: StoragePath, *, runner: str = "local", workers: int | None = None, changed: bool = False
) -> ValidationReport:
    """Validate a dataset, and write the report to `data/validation` unless that is read-only.

    With `changed`, shards that the last validation found clean and whose files have not changed are not read again.

    Raises:
        UserError: there is no published dataset of this schema version at `data`, or a disk fails.
    """
    started_s = time.monotonic()
    layout = Layout(data)
    with _translate_disk_errors(str(data)):
        published = check_dataset_files(layout)
    try:
        with _open_workdir(data, is_local=runner == "local") as (work, is_kept):
            cached = (
                read_clean_cache(layout, info=published.info)
                if changed and published.info and published.is_original
                else {}
            )
            inputs = ValidationInputs(layout, published, work, cached)
            _run(inputs, runner=runner, workers=workers)
            report = _report(inputs, started_s=started_s, is_kept=is_kept)
        if is_kept:
            write_report(layout, report)
    except OSError as error:
        raise UserError(f"{error.filename or data}: {error.strerror}; validation writes its report there") from error
    return report


@contextlib.contextmanager
def _open_workdir(data: StoragePath, *, is_local: bool) -> Iterator[tuple[StoragePath, bool]]:
    """The work folder, and True if it lies in the dataset, so that report and cache are kept.

    A read-only dataset can be validated too, with a temporary folder on this machine.
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


def _run(inputs: ValidationInputs, *, runner: str, workers: int | None) -> None:
    shards, records = inputs.shards, inputs.records
    with show_progress(inputs.work / PROGRESS, label=f"{records} records, {len(shards)} shards", total=records):
        run_graph(
            lambda pipeline: validation_graph(pipeline, inputs),
            runner=runner,
            workers=choose_workers(workers, utterances=records // RECORDS_PER_UTTERANCE, runner=runner),
            name=new_job_name("validate"),
        )


def validation_graph(pipeline: beam.Pipeline, inputs: ValidationInputs) -> None:
    """Build the graph; it writes verdicts, totals and findings as files, which the driver can read with any runner."""
    published, layout, work = inputs.published, inputs.layout, inputs.work
    if published.info is None:
        _ = (
            pipeline
            | beam.Create(sorted(published.sums.items()))  # (file, sha256), spread over the workers
            | beam.FlatMap(check_sum, layout=layout)  # Finding
            | beam.Map(_write_finding, work=work)
        )
        return
    inspected = (
        pipeline
        | beam.Create([(shard, inputs.cached.get(shard.name)) for shard in inputs.shards])
        | beam.ParDo(InspectShards(inputs, groups=count_groups(inputs.records))).with_outputs("hashes", main="verdicts")
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
    """(ShardInfo, cached verdict) -> ShardVerdict, written to the work folder; `hashes`: cross-shard hashes."""

    def __init__(self, inputs: ValidationInputs, *, groups: int):
        assert inputs.published.info is not None
        self._layout, self._work, self._info = inputs.layout, inputs.work, inputs.published.info
        self._success_sums = None if inputs.published.is_original else inputs.published.sums
        self._groups = groups

    def process(
        self, element: tuple[ShardInfo, CachedVerdict | None]
    ) -> Iterator[ShardVerdict | beam.pvalue.TaggedOutput]:
        shard, cached = element
        with _translate_disk_errors(shard.name):
            counter = ProgressCounter(self._work / PROGRESS, name=shard.name)
            verdict, hashes = self._from_cache(shard, cached=cached, counter=counter) or self._inspect(
                shard, counter=counter
            )
            write_json(self._work / f"{shard.name}.verdict", verdict, durable=False)
        yield verdict.model_copy(update={"findings": []})
        for group, packed in hashes:
            yield beam.pvalue.TaggedOutput("hashes", (group, packed))

    def _from_cache(
        self, shard: ShardInfo, *, cached: CachedVerdict | None, counter: ProgressCounter
    ) -> tuple[ShardVerdict, list[tuple[GroupKey, ShardHashes]]] | None:
        verdict = cached and cached.verdict(shard, layout=self._layout)
        are_data = not self._info.contract.stores_mels  # the recordings are part of the data
        extra_columns = ("audio_path",) if are_data else ()
        table = (
            read_compared_columns(self._layout.manifest(shard.name), extra_columns=extra_columns) if verdict else None
        )
        if verdict is None or table is None:
            return None
        if are_data and recordings_state(table) != verdict.recordings:
            return None
        counter.add(verdict.sums.records)
        counter.flush()
        return verdict, list(shard_hashes(table, ids=None, shard_name=shard.name, groups=self._groups))

    def _inspect(
        self, shard: ShardInfo, *, counter: ProgressCounter
    ) -> tuple[ShardVerdict, list[tuple[GroupKey, ShardHashes]]]:
        inspection = ShardInspection(shard, layout=self._layout, info=self._info, counter=counter)
        verdict = inspection.verdict()
        if self._success_sums is not None:
            remaining = reassign_blame(verdict.findings, sums=self._success_sums, info=self._layout.info.name)
            verdict = verdict.model_copy(update={"findings": list(remaining)})
        hashes = shard_hashes(inspection.manifest, ids=inspection.keys, shard_name=shard.name, groups=self._groups)
        return verdict, list(hashes)


@contextlib.contextmanager
def _translate_disk_errors(where: str) -> Iterator[None]:
    """Raise UserError if a disk fails: the user can fix that."""
    try:
        yield
    except OSError as error:
        message = f"{where}: {error.strerror or error}; there is no verdict; fix the disk or free some space"
        raise UserError(f"{message}, and validate again") from error


def check_sum(listed: tuple[str, str], layout: Layout) -> Iterator[Finding]:
    """Compare a file with its sum in `_SUCCESS`: the only check that is possible without dataset.json."""
    name, expected = listed
    path = layout.root / name
    if path.parent == layout.root:
        return  # checked by check_dataset_files
    if not path.is_file():
        yield Finding(file=name, shard_name=path.stem, check="missing", message="the file is not there")
        return
    try:
        found = file_sha256(path)
    except OSError as error:
        yield Finding(file=name, shard_name=path.stem, check="unreadable", message=f"{error.strerror}")
        return
    if found != expected:
        yield Finding(file=name, shard_name=path.stem, check="sha256", message=f"sha256 {found}", expected=expected)


def _write_finding(finding: Finding, work: StoragePath) -> None:
    with _translate_disk_errors(finding.file):
        write_bytes(work / f"{uuid.uuid4().hex}.finding", finding.model_dump_json().encode(), durable=False)


def _write_totals(totals: Totals, work: StoragePath) -> Totals:
    counts = {"records": totals.records, "trusted": totals.trusted}
    with _translate_disk_errors("the totals"):
        write_bytes(work / "totals.json", json.dumps(counts).encode(), durable=False)
    return totals


def _report(inputs: ValidationInputs, *, started_s: float, is_kept: bool) -> ValidationReport:
    """Collect all findings and write the cache of clean shards."""
    published, layout, work = inputs.published, inputs.layout, inputs.work
    across = [Finding.model_validate_json(path.read_bytes()) for path in sorted(work.glob("*.finding"))]
    across.sort(key=lambda one: (one.file, one.check, one.index or 0, one.message))
    verdicts = [work / f"{shard.name}.verdict" for shard in inputs.shards]
    found = [one for path in verdicts for one in _verdict(path).findings]
    findings = list(dict.fromkeys([*published.findings, *_unlisted_files(inputs), *found, *across]))
    if is_kept and published.info is not None and published.is_original:
        bad = {one.shard_name for one in findings}
        clean = (verdict for verdict in map(_verdict, verdicts) if verdict.shard_name not in bad)
        write_clean_cache(layout, info=published.info, clean=clean)
    totals = json.loads((work / "totals.json").read_bytes()) if published.info else {"records": 0, "trusted": 0}
    return ValidationReport(
        fingerprint=published.info.fingerprint if published.info else "",
        finished=datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
        seconds=round(time.monotonic() - started_s, 3),
        shards=len(inputs.shards),
        bytes=sum(shard.bytes for shard in inputs.shards),
        findings=[with_fix(one, data=layout.root) for one in findings],
        **totals,
    )


def _verdict(path: StoragePath) -> ShardVerdict:
    return ShardVerdict.model_validate_json(path.read_bytes())


def _unlisted_files(inputs: ValidationInputs) -> Iterator[Finding]:
    """Files beside shards and tables that neither dataset.json nor `_SUCCESS` lists, if one of these is complete."""
    layout = inputs.layout
    if not has_complete_listing(inputs.published, layout=layout):
        return
    listed = {path for shard in inputs.shards for path in layout.shard_files(shard.name)}
    listed |= {layout.root / name for name in inputs.published.sums}
    for folder in layout.folders:
        for path in sorted(folder.iterdir() if folder.is_dir() else ()):
            if path not in listed:
                file = str(path.relative_to(layout.root))
                yield Finding(file=file, check="stray", message="nothing lists this file")
