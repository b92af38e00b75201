"""Damaged shards made again from the corpora, to the same bytes; nothing else is touched."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pipelines.assembly import Assembly
from pipelines.config import BuildConfig
from pipelines.damage import (
    damaged_files,
    published_config,
    stated_inputs,
    stem_of_file,
    stems_of,
    sums_of_shard,
)
from pipelines.differences import Difference, differences
from pipelines.measure import preparation
from pipelines.plan import Plan, plan_as_published, plan_build
from pipelines.scope import Scope
from pipelines.settle import ShardReport
from pipelines.validation.base import Base, inspect_base
from pipelines.validation.findings import Finding
from pipelines.validation.mending import OF_THE_CORPUS
from pipelines.validation.validate import validate_dataset
from preprocess.record import Preparation
from shared.files import file_sha256
from shared.layout import Layout
from shared.lock import Lock, writing
from shared.place import Place


class Repair(NamedTuple):
    """What was wrong, and what was done about it."""

    damaged: tuple[str, ...]  # files, relative to the dataset
    rebuilt: tuple[str, ...]  # shards
    changed: tuple[str, ...]  # files that were written or removed
    unlike: tuple[str, ...]  # of those, the ones that are not as they were published
    quarantine: Place | None  # where the files that were replaced lie now
    differences: tuple[Difference, ...]
    remaining: tuple[Finding, ...]  # that only the corpora can mend

    @property
    def is_refused(self) -> bool:
        """The corpora have changed, and nothing was done."""
        return bool(self.differences) and not self.changed


def repair_dataset(
    data: Place,
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
    with writing(data, command="repair", break_lock=break_lock) as lock:
        layout = Layout(data)
        base = inspect_base(layout)
        wanted = published_config(layout, base=base, given=config)
        work = _Repair(wanted, layout=layout, base=base, runner=runner, lock=lock)
        return work.done(accept_changes=accept_changes)


class _Repair:
    """One repair, the lock in hand."""

    def __init__(self, config: BuildConfig, *, layout: Layout, base: Base, runner: str, lock: Lock):
        self._config, self._layout, self._base = config, layout, base
        self._runner, self._lock = runner, lock
        self._prepare: Preparation = preparation(config)
        self._findings = validate_dataset(layout.root, runner=runner).findings
        self._stems = stems_of(base)
        files = damaged_files(self._stems, base=base, layout=layout)
        self._damaged = {path.relative_to(layout.root).as_posix() for path in files}
        self._damaged.update(one.file for one in self._findings if one.check not in OF_THE_CORPUS)
        self._bad = sorted({stem for name in self._damaged if (stem := stem_of_file(name)) in self._stems})

    def done(self, *, accept_changes: bool) -> Repair:
        if not self._damaged:
            return self._told()
        plan = plan_as_published(self._stems, config=self._config) if self._stems else plan_build(self._config)
        assembly, reports = self._assembled(plan, stated=True)
        found = tuple(self._differences(reports, assembly=assembly))
        if found and not accept_changes:
            return self._told(differences=found)
        if found:  # what is made from other inputs must not be said to be made from the old ones
            assembly, reports = self._assembled(plan, stated=False)
        now = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%dT%H-%M-%S}"
        published = assembly.publish(reports, keep_in=self._layout.quarantine / now)
        quarantine = self._layout.quarantine / now
        return self._told(
            changed=published.changed,
            quarantine=quarantine if quarantine.exists() else None,
            differences=found,
        )

    def _told(
        self,
        *,
        changed: Sequence[str] = (),
        quarantine: Place | None = None,
        differences: tuple[Difference, ...] = (),
    ) -> Repair:
        stated = self._base.sums
        unlike = (name for name in changed if name in stated and stated[name] != _digest(self._layout.root / name))
        return Repair(
            damaged=tuple(sorted(self._damaged)),
            rebuilt=tuple(self._bad) if changed else (),
            changed=tuple(changed),
            unlike=tuple(unlike),
            quarantine=quarantine,
            differences=differences,
            remaining=tuple(one for one in self._findings if one.check in OF_THE_CORPUS),
        )

    def _assembled(self, plan: Plan, *, stated: bool) -> tuple[Assembly, list[ShardReport]]:
        assembly = Assembly(
            self._config, prepare=self._prepare, data=self._layout.root, runner=self._runner, lock=self._lock
        )
        inputs = {stem: stated_inputs(stem, base=self._base) for stem in self._stems}
        scope = Scope(
            published={},
            trusted={stem: said for stem, said in inputs.items() if stem not in self._bad},
            stated={stem: said for stem in self._bad if stated and (said := inputs[stem])},
        )
        return assembly, assembly.assemble(plan, scope=scope)

    def _differences(self, reports: Sequence[ShardReport], *, assembly: Assembly) -> Iterator[Difference]:
        """Where a rebuilt shard is not what either record says, and by which utterances if its tables still tell."""
        for report in reports:
            stem = report.info.name
            sums = sums_of_shard(stem, base=self._base, layout=self._layout)
            made = zip(sums, report.info.sha256_of_parts(), strict=True)
            if stem not in self._bad or all(not known or digest in known for known, digest in made):
                continue
            tables = [path.relative_to(self._layout.root).as_posix() for path in self._layout.parts(stem)[1:]]
            if self._damaged.isdisjoint(tables):
                yield from differences(stem, older=self._layout, newer=assembly.staged)
            else:
                message = "it comes out otherwise than it was published; its tables are damaged too, so which "
                yield Difference(stem=stem, utterance_id=None, message=message + "utterances differ cannot be said")


def _digest(path: Place) -> str | None:
    return file_sha256(path) if path.is_file() else None
