"""Repair: make damaged files again from the corpora, to the same bytes, and touch nothing else."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import click
import pyarrow as pa

from pipelines.build.disk_errors import translate_disk_errors
from pipelines.build.file_sums import stated_sums
from pipelines.build.incremental import ReusePolicy
from pipelines.build.job import BuildJob
from pipelines.build.listing import Listing
from pipelines.build.preparation import create_contract, create_preparation
from pipelines.build.provenance import MadeBy, made_here, merged
from pipelines.build.provenance import differences as provenance_differences
from pipelines.build.result_checks import check_counts, check_rejections
from pipelines.build.shard_plan import plan_published_shards
from pipelines.build.shard_report import ShardReport
from pipelines.config import BuildConfig
from pipelines.repair.shard_diff import ShardDifference, diff_shard
from pipelines.validation.dataset_files import DatasetFiles, check_dataset_files, is_damaged_sum
from pipelines.validation.findings import Finding
from pipelines.validation.integrity import (
    check_contract,
    damaged_files,
    expected_sums,
    published_config,
    sha256_unless_damaged,
    shard_names,
    shard_of_file,
    stated_inputs,
)
from pipelines.validation.remedies import CORPUS_CHECKS
from pipelines.validation.validate import validate_dataset
from preprocess.record import Preparation
from shared.errors import UserError
from shared.files import file_sha256, write_bytes
from shared.layout import Layout
from shared.locks import Lock, write_lock
from shared.publication import check_folders
from shared.storage_path import StoragePath
from shared.tables import MANIFEST, REJECTED, read_table

# The sum of each table of a shard in `ShardInfo`, its path, and its columns.
TABLES = (
    ("manifest_sha256", Layout.manifest, MANIFEST),
    ("rejected_sha256", Layout.rejected, REJECTED),
    ("withheld_manifest_sha256", Layout.withheld_manifest, MANIFEST),
)
# In place of a hash of inputs; it equals no hash, so that the next build makes the shard again.
UNKNOWN_INPUTS = "unknown"


class RepairResult(NamedTuple):
    """The damage that a repair found, and the files that it changed."""

    damaged: tuple[str, ...]  # files, relative to the dataset
    rebuilt: tuple[str, ...]  # names of shards
    changed: tuple[str, ...]  # files that were written or removed
    differing: tuple[str, ...]  # changed files whose new sha256 is not the published one
    unverifiable: tuple[str, ...]  # changed files whose published sha256 is not known
    quarantine: StoragePath | None  # the folder with the replaced files
    differences: tuple[ShardDifference, ...]
    remaining: tuple[Finding, ...]  # findings that need a change of the corpora

    @property
    def is_aborted(self) -> bool:
        """True if the corpora have changed and nothing was written."""
        return bool(self.differences) and not self.changed


def repair_dataset(
    data: StoragePath,
    *,
    config: BuildConfig | None = None,
    runner: str = "local",
    accept_changes: bool = False,
    break_lock: bool = False,
) -> RepairResult:
    """Find damaged files, make them again, and move the damaged ones into quarantine.

    If the corpora no longer give the published bytes, nothing is written unless `accept_changes`.

    Raises:
        UserError: the damage leaves too little to repair from, another process writes the dataset, or the corpora
            or the disk fail.
    """
    if not data.is_dir():
        raise UserError(f"{data}: no such directory; expected a dataset")
    with write_lock(data, command="repair", break_lock=break_lock) as lock:
        layout = Layout(data)
        _check_quarantine(layout)
        published = check_dataset_files(layout)
        build_config = published_config(layout, published=published, given=config)
        repair = _Repair(build_config, layout=layout, published=published, runner=runner, lock=lock)
        return repair.run(accept_changes=accept_changes)


def _check_quarantine(layout: Layout) -> None:
    """Check before the work that files can be moved into the quarantine folder.

    Raises:
        UserError: they cannot.
    """
    try:
        check_folders([layout.quarantine], root=layout.root)
    except OSError as error:
        raise UserError(
            f"{error.filename}: {error.strerror}; expected a folder for the files that a repair replaces"
        ) from error


class _Repair:
    """The state of one repair; the caller holds the dataset's lock."""

    def __init__(self, config: BuildConfig, *, layout: Layout, published: DatasetFiles, runner: str, lock: Lock):
        self._config, self._layout, self._published = config, layout, published
        self._runner, self._lock = runner, lock
        self._shard_names = shard_names(published, layout=layout)
        self._prepare: Preparation = create_preparation(config)
        check_contract(create_contract(self._prepare), published=published, layout=layout)
        self._findings = validate_dataset(layout.root, runner=runner).findings
        files = damaged_files(self._shard_names, published=published, layout=layout)
        self._damaged = {path.relative_to(layout.root).as_posix() for path in files}
        self._damaged.update(one.file for one in self._findings if one.check not in CORPUS_CHECKS)
        self._damaged_shards = sorted(
            {name for file in self._damaged if (name := shard_of_file(file)) in self._shard_names}
        )

    def run(self, *, accept_changes: bool) -> RepairResult:
        if not self._damaged:
            return self._result()
        with Listing() as listing:
            return self._rebuild(listing, accept_changes=accept_changes)

    def _rebuild(self, listing: Listing, *, accept_changes: bool) -> RepairResult:
        plan = plan_published_shards(self._shard_names, config=self._config, listing=listing)
        job = BuildJob(
            self._config, prepare=self._prepare, data=self._layout.root, runner=self._runner, lock=self._lock
        )
        intact = [name for name in self._shard_names if name not in self._damaged_shards]
        always = {name: stated_inputs(name, published=self._published) for name in intact}
        made = job.run(plan, listing=listing, reuse=ReusePolicy(take_over={}, always=always))
        reports = [self._with_published_tables(report, job=job) for report in made]
        rebuilt = (report for report in reports if report.info.name in self._damaged_shards)
        check_counts(rebuilt, listed=plan.listed_in(self._damaged_shards))
        differences = tuple(self._shard_differences(reports, job=job))
        here = made_here(pitch=self._config.pitch)
        older = self._made_by(here)
        if found := "; ".join(provenance_differences(older, here)):
            click.echo(f"the dataset was made with {found}: its bytes may not come out again", err=True)
        made_alike = reports if differences else list(map(self._with_stated_inputs, reports))
        info = job.write_dataset_files(made_alike, made_by=older)
        differences = differences or tuple(self._info_differences(job.staged))
        if differences and not accept_changes:
            job.discard()
            return self._result(differences=differences)
        if differences:
            info = job.write_dataset_files(
                list(map(self._with_unknown_inputs, reports)), made_by=merged(older, job.made_by)
            )
        check_rejections(reports, config=self._config, rejected=job.staged.rejected("any").parent)
        quarantine = self._layout.quarantine / f"{datetime.datetime.now(datetime.UTC):%Y-%m-%dT%H-%M-%S}"
        published = job.publish(info, keep_in=quarantine)
        return self._result(
            changed=published.changed,
            quarantine=quarantine if quarantine.exists() else None,
            differences=differences,
        )

    def _made_by(self, here: MadeBy) -> MadeBy:
        """The versions that made the dataset; those of here if its dataset.json is lost or damaged."""
        info = self._published.info
        return info.made_by if info is not None and self._published.is_original else here

    def _with_published_tables(self, report: ShardReport, *, job: BuildJob) -> ShardReport:
        """The report with the published tables, where they are intact, and the rebuilt records and rows are equal.

        Another version of pyarrow writes other bytes for the same rows.
        """
        name = report.info.name
        if not self._are_records_published(report) or self._has_published_sums(report):
            return report
        if not self._are_tables_intact(name) or not _has_equal_tables(name, older=self._layout, newer=job.staged):
            return report
        sums: dict[str, str] = {}
        for field, path_of, _ in TABLES:
            with translate_disk_errors(staging=job.staged.root):
                write_bytes(path_of(job.staged, name), path_of(self._layout, name).read_bytes(), durable=False)
            sums[field] = file_sha256(path_of(job.staged, name))
        return report.model_copy(update={"info": report.info.model_copy(update=sums)})

    def _are_records_published(self, report: ShardReport) -> bool:
        """Whether the records of a shard are known to have the published bytes."""
        kept, _, _, withheld, _ = expected_sums(report.info.name, published=self._published, layout=self._layout)
        return report.info.sha256 in kept and report.info.withheld_sha256 in withheld

    def _has_published_sums(self, report: ShardReport) -> bool:
        """Whether all files of a shard have the published sums, as far as these are known."""
        sums = expected_sums(report.info.name, published=self._published, layout=self._layout)
        made = zip(sums, report.info.sha256_of_files(), strict=True)
        return all(not known or digest in known for known, digest in made)

    def _are_tables_intact(self, shard_name: str) -> bool:
        parts = [path.relative_to(self._layout.root).as_posix() for path in self._layout.shard_files(shard_name)]
        return self._damaged.isdisjoint(name for name in parts if name.endswith(".parquet"))

    def _with_stated_inputs(self, report: ShardReport) -> ShardReport:
        """The report with the published hash of inputs: a shard with the published bytes keeps it."""
        return _with_inputs(report, stated_inputs(report.info.name, published=self._published) or report.info.inputs)

    def _with_unknown_inputs(self, report: ShardReport) -> ShardReport:
        """With UNKNOWN_INPUTS if the shard is intact, but the corpus has changed and dataset.json is lost."""
        is_known = report.info.name in self._damaged_shards or self._published.is_original
        return report if is_known else _with_inputs(report, UNKNOWN_INPUTS)

    def _info_differences(self, staged: Layout) -> Iterator[ShardDifference]:
        """A difference if all shards have the published bytes, but dataset.json does not."""
        stated, made = self._published.sums.get(staged.info.name), file_sha256(staged.info)
        if stated is None:
            stated = sha256_unless_damaged(self._layout.info) if self._published.is_original else None
        if stated is not None and made != stated and not is_damaged_sum(stated, found=made):
            message = "rebuilt, it differs from the published one; the corpora or this software have changed"
            yield ShardDifference(shard_name=staged.info.name, utterance_id=None, message=message)

    def _result(
        self,
        *,
        changed: Sequence[str] = (),
        quarantine: StoragePath | None = None,
        differences: tuple[ShardDifference, ...] = (),
    ) -> RepairResult:
        stated = _sums_by_file(self._published, layout=self._layout)
        # None: an unlisted file that was moved away
        found = {name: sha256_unless_damaged(self._layout.root / name) for name in changed}
        success = self._layout.success.name
        return RepairResult(
            damaged=tuple(sorted(self._damaged)),
            rebuilt=tuple(self._damaged_shards) if changed else (),
            changed=tuple(changed),
            differing=tuple(name for name in changed if name in stated and found[name] not in stated[name]),
            unverifiable=tuple(name for name in changed if name not in stated and found[name] and name != success),
            quarantine=quarantine,
            differences=differences,
            remaining=tuple(one for one in self._findings if one.check in CORPUS_CHECKS),
        )

    def _shard_differences(self, reports: Sequence[ShardReport], *, job: BuildJob) -> Iterator[ShardDifference]:
        """The rebuilt shards without the published bytes; by utterance if the published tables are intact."""
        for report in reports:
            shard_name = report.info.name
            if shard_name not in self._damaged_shards or self._has_published_sums(report):
                continue
            tables_intact = self._are_tables_intact(shard_name)
            found = list(diff_shard(shard_name, older=self._layout, newer=job.staged)) if tables_intact else []
            why = "no row of its tables differs" if tables_intact else "its tables are damaged too"
            message = f"rebuilt, it differs from the published one; {why}"
            yield from found or [ShardDifference(shard_name=shard_name, utterance_id=None, message=message)]


def _has_equal_tables(shard_name: str, *, older: Layout, newer: Layout) -> bool:
    def rows(layout: Layout) -> list[pa.Table]:
        return [read_table(path_of(layout, shard_name), schema=schema) for _, path_of, schema in TABLES]

    return rows(older) == rows(newer)


def _sums_by_file(published: DatasetFiles, *, layout: Layout) -> dict[str, set[str]]:
    """The sha256 of each of the dataset's files that `_SUCCESS` or dataset.json states: two where they disagree."""
    stated = {} if published.info is None else stated_sums(published.info, layout=layout)
    names = published.sums.keys() | stated.keys()
    return {name: {sums[name] for sums in (published.sums, stated) if name in sums} for name in names}


def _with_inputs(report: ShardReport, inputs: str) -> ShardReport:
    return report.model_copy(update={"info": report.info.model_copy(update={"inputs": inputs})})
