"""Damaged shards made again from the corpora, to the same bytes; nothing else is touched."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pipelines.build.job import Assembly
from pipelines.build.prepare_shards import contract_of, preparation
from pipelines.build.publish import check_budget, check_counts
from pipelines.build.shard_plan import plan_as_published
from pipelines.build.shard_selection import Scope
from pipelines.build.write_shards import ShardReport
from pipelines.config import BuildConfig
from pipelines.repair.shard_diff import Difference, differences
from pipelines.validation.dataset_files import DatasetFiles, check_dataset_files, is_damaged_sum, stated_sums
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
from shared.files import file_sha256
from shared.layout import Layout
from shared.locks import Lock, write_lock
from shared.publication import check_folders
from shared.storage_path import StoragePath

# No inputs have this hash.
UNKNOWN = "unknown"


class Repair(NamedTuple):
    """What was wrong, and what was done about it."""

    damaged: tuple[str, ...]  # files, relative to the dataset
    rebuilt: tuple[str, ...]  # shards
    changed: tuple[str, ...]  # files that were written or removed
    unlike: tuple[str, ...]  # of those, the ones that are not as they were published
    unsure: tuple[str, ...]  # of those, the ones of which nothing says what they were
    quarantine: StoragePath | None  # where the files that were replaced lie now
    differences: tuple[Difference, ...]
    remaining: tuple[Finding, ...]  # that only the corpora can mend

    @property
    def is_refused(self) -> bool:
        """The corpora have changed, and nothing was done."""
        return bool(self.differences) and not self.changed


def repair_dataset(
    data: StoragePath,
    *,
    config: BuildConfig | None = None,
    runner: str = "local",
    accept_changes: bool = False,
    break_lock: bool = False,
) -> Repair:
    """Find what is damaged, make it again, and put the damaged files into quarantine.

    Where the corpora no longer give what was published, nothing is done unless `accept_changes`.

    Raises:
        UserError: there is nothing to repair from, another writer, the corpora, the disk.
    """
    if not data.is_dir():
        raise UserError(f"{data}: no such directory; wanted a dataset")
    with write_lock(data, command="repair", break_lock=break_lock) as lock:
        layout = Layout(data)
        _check_quarantine(layout)
        base = check_dataset_files(layout)
        wanted = published_config(layout, base=base, given=config)
        work = _Repair(wanted, layout=layout, base=base, runner=runner, lock=lock)
        return work.done(accept_changes=accept_changes)


def _check_quarantine(layout: Layout) -> None:
    """Raises UserError where what is replaced could not be put there at the end of all the work."""
    try:
        check_folders([layout.quarantine], root=layout.root)
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}; what a repair replaces is put there") from error


class _Repair:
    """One repair, the lock in hand."""

    def __init__(self, config: BuildConfig, *, layout: Layout, base: DatasetFiles, runner: str, lock: Lock):
        self._config, self._layout, self._base = config, layout, base
        self._runner, self._lock = runner, lock
        self._stems = shard_names(base, layout=layout)
        self._prepare: Preparation = preparation(config)
        check_contract(contract_of(self._prepare), base=base, layout=layout)
        self._findings = validate_dataset(layout.root, runner=runner).findings
        files = damaged_files(self._stems, base=base, layout=layout)
        self._damaged = {path.relative_to(layout.root).as_posix() for path in files}
        self._damaged.update(one.file for one in self._findings if one.check not in CORPUS_CHECKS)
        self._bad = sorted({stem for name in self._damaged if (stem := shard_of_file(name)) in self._stems})

    def done(self, *, accept_changes: bool) -> Repair:
        if not self._damaged:
            return self._told()
        plan = plan_as_published(self._stems, config=self._config)
        assembly = Assembly(
            self._config, prepare=self._prepare, data=self._layout.root, runner=self._runner, lock=self._lock
        )
        trusted = {stem: stated_inputs(stem, base=self._base) for stem in self._stems if stem not in self._bad}
        reports = assembly.assemble(plan, scope=Scope(published={}, trusted=trusted))
        made = (report for report in reports if report.info.name in self._bad)
        check_counts(made, listed=plan.listed_in(self._bad))
        found = tuple(self._differences(reports, assembly=assembly))
        info = assembly.describe(reports if found else list(map(self._as_stated, reports)))
        found = found or tuple(self._differences_of_description(assembly.staged))
        if found and not accept_changes:
            assembly.discard()
            return self._told(differences=found)
        if found:
            info = assembly.describe(list(map(self._as_unknown, reports)))
        check_budget(reports, config=self._config, rejected=assembly.staged.rejected("any").parent)
        quarantine = self._layout.quarantine / f"{datetime.datetime.now(datetime.UTC):%Y-%m-%dT%H-%M-%S}"
        published = assembly.publish(info, keep_in=quarantine)
        return self._told(
            changed=published.changed,
            quarantine=quarantine if quarantine.exists() else None,
            differences=found,
        )

    def _as_stated(self, report: ShardReport) -> ShardReport:
        """What comes out as it was published is said to be made from what it was made from."""
        return _with_inputs(report, stated_inputs(report.info.name, base=self._base) or report.info.inputs)

    def _as_unknown(self, report: ShardReport) -> ShardReport:
        """What the sound shards of a changed corpus were made from is not known: the next build shall make them."""
        known = report.info.name in self._bad or self._base.is_original
        return report if known else _with_inputs(report, UNKNOWN)

    def _differences_of_description(self, staged: Layout) -> Iterator[Difference]:
        """Where the shards are as they were and dataset.json is not."""
        stated, made = self._base.sums.get(staged.info.name), file_sha256(staged.info)
        if stated is None:
            stated = sha256_unless_damaged(self._layout.info) if self._base.is_original else None
        if stated is not None and made != stated and not is_damaged_sum(stated, found=made):
            message = "it comes out otherwise than it was published: the corpora or this software have changed"
            yield Difference(stem=staged.info.name, utterance_id=None, message=message)

    def _told(
        self,
        *,
        changed: Sequence[str] = (),
        quarantine: StoragePath | None = None,
        differences: tuple[Difference, ...] = (),
    ) -> Repair:
        stated = _sums_by_file(self._base, layout=self._layout)
        found = {
            name: sha256_unless_damaged(self._layout.root / name) for name in changed
        }  # None of a stray: it is put away
        success = self._layout.success.name
        return Repair(
            damaged=tuple(sorted(self._damaged)),
            rebuilt=tuple(self._bad) if changed else (),
            changed=tuple(changed),
            unlike=tuple(name for name in changed if name in stated and found[name] not in stated[name]),
            unsure=tuple(name for name in changed if name not in stated and found[name] and name != success),
            quarantine=quarantine,
            differences=differences,
            remaining=tuple(one for one in self._findings if one.check in CORPUS_CHECKS),
        )

    def _differences(self, reports: Sequence[ShardReport], *, assembly: Assembly) -> Iterator[Difference]:
        """Where a rebuilt shard is not what either record says, and by which utterances if its tables still tell."""
        for report in reports:
            stem = report.info.name
            sums = expected_sums(stem, base=self._base, layout=self._layout)
            made = zip(sums, report.info.sha256_of_files(), strict=True)
            if stem not in self._bad or all(not known or digest in known for known, digest in made):
                continue
            parts = [path.relative_to(self._layout.root).as_posix() for path in self._layout.shard_files(stem)]
            sound = self._damaged.isdisjoint(name for name in parts if name.endswith(".parquet"))
            found = list(differences(stem, older=self._layout, newer=assembly.staged)) if sound else []
            why = "by what its tables do not hold" if sound else "its tables are damaged, so by which utterances"
            message = f"it comes out otherwise than it was published: {why}"
            yield from found or [Difference(stem=stem, utterance_id=None, message=message)]


def _sums_by_file(base: DatasetFiles, *, layout: Layout) -> dict[str, set[str]]:
    """What either record says that a file was; nothing of one that was never the dataset's."""
    stated = {} if base.info is None else stated_sums(base.info, layout=layout)
    names = base.sums.keys() | stated.keys()
    return {name: {sums[name] for sums in (base.sums, stated) if name in sums} for name in names}


def _with_inputs(report: ShardReport, inputs: str) -> ShardReport:
    return report.model_copy(update={"info": report.info.model_copy(update={"inputs": inputs})})
