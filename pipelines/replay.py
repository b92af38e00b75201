"""Rejected utterances tried again: only the shards that gain one are written anew."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import apache_beam as beam
import pyarrow.compute as pc

from pipelines.assembly import Assembly
from pipelines.config import BuildConfig
from pipelines.damage import published_config
from pipelines.differences import Difference, differences
from pipelines.measure import preparation
from pipelines.orphans import noted_job
from pipelines.plan import Plan, plan_as_published
from pipelines.progress import Tally, show_progress
from pipelines.publish import Published
from pipelines.runners import choose_workers, new_job_name, run_graph
from pipelines.scope import Scope
from pipelines.staging import Staging
from pipelines.validation.base import inspect_base
from preprocess.utterance import SELECTION, Rejection, Utterance
from shared.dataset import Dataset
from shared.files import remove_tree, write_json
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
    with writing(data, command="replay", break_lock=break_lock) as lock:
        dataset = Dataset.open(data)
        wanted = published_config(dataset.layout, base=inspect_base(dataset.layout), given=config)
        prepare = preparation(wanted)
        plan = plan_as_published((shard.name for shard in dataset.info.shards), config=wanted)
        candidates = Candidates(dataset, config=wanted, plan=plan)
        assembly = Assembly(wanted, prepare=prepare, data=data, runner=runner, lock=lock)
        assembly.end_left_job()
        gained = _tried(candidates.elements, config=wanted, data=data, runner=runner, lock=lock)
        anew = candidates.shards_of(gained)
        told = Replay(len(candidates.elements), tuple(sorted(gained)), tuple(sorted(anew)), None, ())
        if not anew:
            return told
        trusted: dict[str, str | None] = {
            shard.name: shard.inputs for shard in dataset.info.shards if shard.name not in anew
        }
        reports = assembly.assemble(plan, scope=Scope(published={}, trusted=trusted, stated={}))
        found = [one for stem in anew for one in differences(stem, older=dataset.layout, newer=assembly.staged)]
        others = tuple(one for one in found if not candidates.explain(one, gained=gained))
        if others and not accept_changes:
            return told._replace(differences=others)
        return told._replace(differences=others, published=assembly.publish(reports))


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
    """(id, stem) of all of which there is no record."""
    for shard in dataset.info.shards:
        table = read_table(dataset.layout.rejected(shard.name), schema=REJECTED)
        hard = table.filter(pc.not_equal(table["stage"], SELECTION))
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
    work.tried.mkdir(parents=True)
    name = new_job_name("replay")
    with (
        show_progress(work.progress, label="rejected utterances", total=len(elements)),
        noted_job(lock, runner=runner, name=name),
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
    remove_tree(work.root)
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
