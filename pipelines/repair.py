"""Damaged shards made again from the corpora, to the same bytes; nothing else is touched."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pipelines.assembly import Assembly
from pipelines.config import BuildConfig
from pipelines.damage import Record, damaged_files, published_config, stem_of_file
from pipelines.differences import Difference, differences
from pipelines.findings import Finding
from pipelines.measure import preparation
from pipelines.plan import Plan, plan_as_published, plan_build
from pipelines.publish import sums_of
from pipelines.scope import Scope
from pipelines.settle import ShardReport
from pipelines.validate import validate_dataset
from preprocess.record import Preparation
from shared.errors import UserError
from shared.files import file_sha256
from shared.layout import Layout
from shared.lock import Lock, writing
from shared.publication import sums_document

# What no repair can mend: the corpora themselves say it.
OF_THE_CORPORA = ("duplicate", "leak")


class Repair(NamedTuple):
    """What was wrong, and what was done about it."""

    damaged: tuple[str, ...]  # files, relative to the dataset
    rebuilt: tuple[str, ...]  # shards
    changed: tuple[str, ...]  # files that were written or removed
    unlike: tuple[str, ...]  # of those, the ones that are not as they were published
    quarantine: Path | None  # where the files that were replaced lie now
    differences: tuple[Difference, ...]
    remaining: tuple[Finding, ...]  # that only the corpora can mend

    @property
    def is_refused(self) -> bool:
        """The corpora have changed, and nothing was done."""
        return bool(self.differences) and not self.changed


def repair_dataset(
    data: Path,
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
        record = Record.of(layout)
        if not layout.info.exists() and not layout.success.exists():
            raise UserError(f"{data}: no dataset here; `make preprocess DATA={data}` builds one")
        wanted = published_config(layout, record=record, given=config)
        work = _Repair(wanted, layout=layout, record=record, runner=runner, lock=lock)
        return work.done(accept_changes=accept_changes)


class _Repair:
    """One repair, the lock in hand."""

    def __init__(self, config: BuildConfig, *, layout: Layout, record: Record, runner: str, lock: Lock):
        self._config, self._layout, self._record = config, layout, record
        self._runner, self._lock = runner, lock
        self._prepare: Preparation = preparation(config)
        self._findings = list(_findings(layout, record=record, runner=runner))
        self._stems = record.stems()
        files = damaged_files(self._stems, record=record, layout=layout)
        self._damaged = {path.relative_to(layout.root).as_posix() for path in files}
        self._damaged.update(one.file for one in self._findings if one.check not in OF_THE_CORPORA)
        self._damaged.update(self._damaged_descriptions())
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
        quarantine: Path | None = None,
        differences: tuple[Difference, ...] = (),
    ) -> Repair:
        stated = self._record.sums
        unlike = (name for name in changed if name in stated and stated[name] != _digest(self._layout.root / name))
        return Repair(
            damaged=tuple(sorted(self._damaged)),
            rebuilt=tuple(self._bad) if changed else (),
            changed=tuple(changed),
            unlike=tuple(unlike),
            quarantine=quarantine,
            differences=differences,
            remaining=tuple(one for one in self._findings if one.check in OF_THE_CORPORA),
        )

    def _damaged_descriptions(self) -> Iterator[str]:
        """Of the files that are of the dataset as a whole."""
        layout, record = self._layout, self._record
        whole = (layout.info, layout.vocabulary, layout.config)
        bad = [path.name for path in whole if record.sums.get(path.name, "") not in ("", _digest(path))]
        bad += [path.name for path in whole if not path.is_file()]
        yield from bad
        if not bad and record.info is not None:
            stated = sums_document(sums_of(record.info, layout=layout))
            if not layout.success.is_file() or layout.success.read_bytes() != stated:
                yield layout.success.name

    def _assembled(self, plan: Plan, *, stated: bool) -> tuple[Assembly, list[ShardReport]]:
        assembly = Assembly(
            self._config, prepare=self._prepare, data=self._layout.root, runner=self._runner, lock=self._lock
        )
        known = self._record.shards if self._record.is_original else {}
        inputs = {stem: known[stem].inputs if stem in known else None for stem in self._stems}
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
            sums = self._record.sums_of(stem, layout=self._layout)
            made = zip(sums, report.info.sha256_of_parts(), strict=True)
            if stem not in self._bad or all(not known or digest in known for known, digest in made):
                continue
            tables = [path.relative_to(self._layout.root).as_posix() for path in self._layout.parts(stem)[1:]]
            if self._damaged.isdisjoint(tables):
                yield from differences(stem, older=self._layout, newer=assembly.staged)
            else:
                message = "it comes out otherwise than it was published; its tables are damaged too, so which "
                yield Difference(stem=stem, utterance_id=None, message=message + "utterances differ cannot be said")


def _findings(layout: Layout, *, record: Record, runner: str) -> Iterator[Finding]:
    """What validation says of a dataset that can still be opened."""
    if record.is_original and layout.success.is_file() and layout.vocabulary.is_file():
        yield from validate_dataset(layout.root, runner=runner).findings


def _digest(path: Path) -> str | None:
    return file_sha256(path) if path.is_file() else None
