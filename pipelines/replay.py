"""Rejected utterances tried again: only the shards that gain one are written anew."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import apache_beam as beam
import pyarrow.compute as pc

from pipelines.assembly import Assembly
from pipelines.config import BuildConfig
from pipelines.damage import check_contract, damaged_files, published_config
from pipelines.differences import Difference, differences
from pipelines.measure import contract_of, disk_message, preparation
from pipelines.orphans import noted_job
from pipelines.plan import Plan, plan_as_published
from pipelines.progress import show_progress
from pipelines.publish import Published, check_budget, check_counts
from pipelines.runners import choose_workers, new_job_name, run_graph
from pipelines.scope import Scope
from pipelines.staging import Staging
from pipelines.tally import Tally
from pipelines.validation.base import inspect_base
from preprocess.utterance import SELECTION, Reason, Rejection, Utterance
from shared.dataset import Dataset
from shared.errors import UserError
from shared.files import write_json
from shared.layout import Layout
from shared.lock import Lock, writing
from shared.place import Place
from shared.tables import REJECTED, read_table


class Replay(NamedTuple):
    """What came of it."""

    tried: int
    gained: tuple[str, ...]  # utterances
    shards: tuple[str, ...]  # that were written anew
    published: Published | None
    differences: tuple[Difference, ...]  # of other utterances of those shards

    @property
    def is_refused(self) -> bool:
        """The corpora have changed otherwise too, and nothing was done."""
        return bool(self.differences) and self.published is None


def replay_dataset(
    data: Place,
    *,
    config: BuildConfig | None = None,
    runner: str = "local",
    accept_changes: bool = False,
    break_lock: bool = False,
) -> Replay:
    """Try every rejected utterance again; publish what can be read now.

    Where other utterances of the same shards have changed too, nothing is done unless `accept_changes`.

    Raises:
        UserError: there is no dataset, another writer, the corpora, the disk.
    """
    if not data.is_dir():
        raise UserError(f"{data}: no such directory; wanted a dataset")
    with writing(data, command="replay", break_lock=break_lock) as lock:
        dataset = Dataset.open(data)
        wanted = _sound_config(dataset, given=config)
        prepare = preparation(wanted)
        check_contract(contract_of(prepare), base=inspect_base(dataset.layout), layout=dataset.layout)
        assembly = Assembly(wanted, prepare=prepare, data=data, runner=runner, lock=lock)
        return _replayed(dataset, wanted, assembly=assembly, runner=runner, lock=lock, accept_changes=accept_changes)


def _replayed(
    dataset: Dataset, config: BuildConfig, *, assembly: Assembly, runner: str, lock: Lock, accept_changes: bool
) -> Replay:
    older = {shard.name: shard for shard in dataset.info.shards}
    plan = plan_as_published(older, config=config)
    candidates = Candidates(dataset, config=config, plan=plan)
    assembly.end_left_job()
    gained = _tried(candidates.elements, config=config, data=dataset.layout.root, runner=runner, lock=lock)
    anew = candidates.shards_of(gained)
    told = Replay(len(candidates.elements), tuple(sorted(gained)), (), None, ())
    if not anew:
        return told
    trusted: dict[str, str | None] = {name: shard.inputs for name, shard in older.items() if name not in anew}
    reports = assembly.assemble(plan, scope=Scope(published={}, trusted=trusted))
    check_counts((report for report in reports if report.info.name in anew), listed=plan.listed_in(anew))
    changed = [report.info.name for report in reports if report.info != older[report.info.name]]
    found = [one for stem in changed for one in differences(stem, older=dataset.layout, newer=assembly.staged)]
    others = tuple(one for one in found if not candidates.explain(one, gained=gained))
    written = (one.info.name for one in reports if one.info.sha256 != older[one.info.name].sha256)
    told = told._replace(differences=others, shards=tuple(written))
    if not accept_changes and not all(one.is_verdict for one in others):
        assembly.discard()
        return told
    check_budget(reports, config=config, rejected=assembly.staged.rejected("any").parent)
    return told._replace(published=assembly.publish(assembly.describe(reports)))


def _sound_config(dataset: Dataset, *, given: BuildConfig | None) -> BuildConfig:
    """What the dataset was built from; none of its files may be damaged, or their sums would become the stated ones.

    Raises:
        UserError: one is.
    """
    base, layout = inspect_base(dataset.layout), dataset.layout
    damaged = [one.file for one in base.findings]
    stems = [shard.name for shard in dataset.info.shards]
    damaged += [path.relative_to(layout.root).as_posix() for path in damaged_files(stems, base=base, layout=layout)]
    if damaged:
        raise UserError(f"{layout.root}: {damaged[0]} is damaged; run `make repair DATA={layout.root}` first")
    return published_config(layout, base=base, given=given)


class Candidates:
    """What was rejected, as the corpora have it today."""

    def __init__(self, dataset: Dataset, *, config: BuildConfig, plan: Plan):
        self._rejected = dict(_hard_rejections(dataset))  # id -> stem
        known = set(_known(dataset.layout, stems=[shard.name for shard in dataset.info.shards]))
        rows, utterances = set(), []
        for stem, element in plan.place(config):
            if isinstance(element, Rejection):
                rows.add(element.id)
            elif element.id in self._rejected or element.id not in known:
                utterances.append((str(stem), element))
        # bad rows of the metadata that are good now: the utterances that they tell have ids of their own
        tried = {element.id for _, element in utterances}
        self._mended = self._rejected.keys() - rows - tried
        self.elements = [
            (stem, element) for stem, element in utterances if element.id in self._rejected or self._mended
        ]

    def shards_of(self, gained: set[str]) -> set[str]:
        """The shards that get one of these, and those in whose tables it was rejected."""
        new = {stem for stem, element in self.elements if element.id in gained}
        old = {self._rejected[name] for name in gained if name in self._rejected}
        return new | old | {self._rejected[name] for name in self._mended if gained}

    def explain(self, difference: Difference, *, gained: set[str]) -> bool:
        """Whether a difference is one that was asked for."""
        return difference.utterance_id in gained or difference.utterance_id in self._mended


def _hard_rejections(dataset: Dataset) -> Iterator[tuple[str, str]]:
    """(id, stem) of all of which there is no record; one that another has the id of can get none."""
    for shard in dataset.info.shards:
        table = read_table(dataset.layout.rejected(shard.name), schema=REJECTED)
        again = pc.and_(
            pc.not_equal(table["stage"], SELECTION), pc.not_equal(table["reason"], str(Reason.DUPLICATE_ID))
        )
        hard = table.filter(again)
        yield from ((name, shard.name) for name in hard["utterance_id"].to_pylist())


def _known(layout: Layout, *, stems: Iterable[str]) -> Iterator[str]:
    """The ids in all tables."""
    for stem in stems:
        for path in (layout.manifest(stem), layout.rejected(stem)):
            yield from read_table(path, columns=["utterance_id"])["utterance_id"].to_pylist()


def _tried(
    elements: list[tuple[str, Utterance]], *, config: BuildConfig, data: Place, runner: str, lock: Lock
) -> set[str]:
    """The ids of those that give a record now."""
    work = Staging.of_new_build(Layout(data))
    name = new_job_name("replay")
    try:
        work.tried.mkdir(parents=True)
        with (
            show_progress(work.progress, label="rejected utterances", total=len(elements)),
            noted_job(lock, runner=runner, name=name, work=name),  # of no use to another
        ):
            run_graph(
                lambda pipeline: (
                    pipeline
                    | beam.Create(elements)  # (stem, Utterance)
                    | beam.GroupByKey()
                    | beam.Reshuffle()
                    | beam.ParDo(Try(config, staging=work.root))
                ),
                runner=runner,
                workers=choose_workers(config.workers, utterances=len(elements), runner=runner),
                name=name,
            )
        gained = {name for path in work.tried.iterdir() for name in json.loads(path.read_bytes())}
        work.discard()
    except OSError as error:
        raise UserError(disk_message(error, staging=work.root)) from error
    return gained


class Try(beam.DoFn):
    """(stem, utterances) -> nothing; the ids of those that give a record are in the staging folder."""

    def __init__(self, config: BuildConfig, *, staging: Place):
        self._config, self._staging = config, Staging(staging)

    def setup(self) -> None:
        self._prepare = preparation(self._config)

    def process(self, grouped: tuple[str, Iterable[Utterance]]) -> None:
        stem, utterances = grouped
        tally, gained = Tally(self._staging.progress, name=stem), []
        for utterance in utterances:
            if not isinstance(self._prepare(utterance), Rejection):
                gained.append(utterance.id)
            tally.add()
        write_json(self._staging.tried / f"{stem}.json", gained, durable=False)
