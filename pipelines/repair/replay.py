"""Rejected utterances tried again: only the shards that gain one are written anew.

All of which no record could be made; and of those that a threshold turned away the ones whose row or recording is not
what it was, for the verdict is on that. What comes of it stands in the shard made anew, judged with all others.
"""

from __future__ import annotations

import concurrent.futures
import json
import os
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import apache_beam as beam

from pipelines.build.job import Assembly
from pipelines.build.prepare_shards import contract_of, disk_message, preparation
from pipelines.build.publish import Published, check_budget, check_counts
from pipelines.build.shard_plan import Plan, plan_as_published
from pipelines.build.shard_selection import Scope
from pipelines.build.staging import Staging
from pipelines.config import BuildConfig
from pipelines.execution.leftover_jobs import registered_job
from pipelines.execution.progress import show_progress
from pipelines.execution.progress_counter import ProgressCounter
from pipelines.execution.runners import choose_workers, new_job_name, run_graph
from pipelines.repair.shard_diff import Difference, differences
from pipelines.validation.dataset_files import check_dataset_files
from pipelines.validation.integrity import check_contract, damaged_files, published_config
from pipelines.validation.recordings import recording_sha256
from preprocess.utterance import FILTER_STAGE, Reason, Rejection, Utterance
from shared.dataset import Dataset
from shared.errors import UserError
from shared.files import write_json
from shared.layout import Layout
from shared.locks import Lock, write_lock
from shared.storage_path import StoragePath
from shared.tables import MANIFEST, REJECTED, read_table

Row = dict[str, Any]

# What a withheld record was made from.
_JUDGED = ["utterance_id", "original_text", "language", "speaker", "audio_sha256"]


class Replay(NamedTuple):
    """What came of it."""

    tried: int
    gained: tuple[str, ...]  # utterances that can be read now
    withheld: tuple[str, ...]  # of those, the ones that a threshold turns away
    shards: tuple[str, ...]  # that were written anew
    published: Published | None
    differences: tuple[Difference, ...]  # of other utterances of those shards

    @property
    def is_refused(self) -> bool:
        """The corpora have changed otherwise too, and nothing was done."""
        return bool(self.differences) and self.published is None


def replay_dataset(
    data: StoragePath,
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
    with write_lock(data, command="replay", break_lock=break_lock) as lock:
        dataset = Dataset.open(data)
        wanted = _sound_config(dataset, given=config)
        prepare = preparation(wanted)
        check_contract(contract_of(prepare), base=check_dataset_files(dataset.layout), layout=dataset.layout)
        assembly = Assembly(wanted, prepare=prepare, data=data, runner=runner, lock=lock)
        return _replayed(dataset, wanted, assembly=assembly, runner=runner, lock=lock, accept_changes=accept_changes)


def _replayed(
    dataset: Dataset, config: BuildConfig, *, assembly: Assembly, runner: str, lock: Lock, accept_changes: bool
) -> Replay:
    older = {shard.name: shard for shard in dataset.info.shards}
    plan = plan_as_published(older, config=config)
    candidates = Candidates(dataset, config=config, plan=plan)
    assembly.end_leftover_job()
    gained = _tried(candidates.elements, config=config, data=dataset.layout.root, runner=runner, lock=lock)
    anew = candidates.shards_of(gained)
    told = Replay(len(candidates.elements), tuple(sorted(gained)), (), (), None, ())
    if not anew:
        return told
    trusted: dict[str, str | None] = {name: shard.inputs for name, shard in older.items() if name not in anew}
    reports = assembly.assemble(plan, scope=Scope(published={}, trusted=trusted))
    check_counts((report for report in reports if report.info.name in anew), listed=plan.listed_in(anew))
    changed = [report.info.name for report in reports if report.info != older[report.info.name]]
    found = [one for stem in changed for one in differences(stem, older=dataset.layout, newer=assembly.staged)]
    others = tuple(one for one in found if not candidates.explain(one, gained=gained))
    written = (one.info.name for one in reports if one.info.sha256 != older[one.info.name].sha256)
    withheld = gained - set(_ids(assembly.staged.manifest(stem) for stem in anew))
    told = told._replace(differences=others, shards=tuple(written), withheld=tuple(sorted(withheld)))
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
    base, layout = check_dataset_files(dataset.layout), dataset.layout
    damaged = [one.file for one in base.findings]
    stems = [shard.name for shard in dataset.info.shards]
    damaged += [path.relative_to(layout.root).as_posix() for path in damaged_files(stems, base=base, layout=layout)]
    if damaged:
        raise UserError(f"{layout.root}: {damaged[0]} is damaged; run `make repair DATA={layout.root}` first")
    return published_config(layout, base=base, given=given)


class Candidates:
    """What was rejected, as the corpora have it today."""

    def __init__(self, dataset: Dataset, *, config: BuildConfig, plan: Plan):
        rejected, rows_of = list(_rejected(dataset)), dict(_withheld(dataset))
        # one that another has the id of can get no record
        unread = {name: stem for name, stem, stage, is_twice in rejected if stage != FILTER_STAGE and not is_twice}
        held = {name: stem for name, stem, stage, is_twice in rejected if stage == FILTER_STAGE and not is_twice}
        twice = {(name, stem) for name, stem, _, is_twice in rejected if is_twice}
        stems = [shard.name for shard in dataset.info.shards]
        known = set(_ids(map(dataset.layout.manifest, stems))) | {name for name, *_ in rejected}
        rows, utterances, judged = set(), [], []
        for stem, element in plan.place(config):
            if isinstance(element, Rejection):
                rows.add(element.id)
            elif element.id in unread or element.id not in known:
                utterances.append((str(stem), element))
            elif element.id in held and (element.id, str(stem)) not in twice:
                judged.append((str(stem), element))
        # bad rows of the metadata that are good now: the utterances that they tell have ids of their own
        tried = {element.id for _, element in utterances}
        self._mended = unread.keys() - rows - tried
        changed = list(_changed(judged, rows={name: rows_of[name, stem] for name, stem in held.items()}))
        self._rejected = {element.id: held[element.id] for _, element in changed} | unread  # id -> stem
        self.elements = [
            *((stem, element) for stem, element in utterances if element.id in unread or self._mended),
            *changed,
        ]

    def shards_of(self, gained: set[str]) -> set[str]:
        """The shards that get one of these, and those in whose tables it was rejected."""
        new = {stem for stem, element in self.elements if element.id in gained}
        old = {self._rejected[name] for name in gained if name in self._rejected}
        return new | old | {self._rejected[name] for name in self._mended if gained}

    def explain(self, difference: Difference, *, gained: set[str]) -> bool:
        """Whether a difference is one that was asked for."""
        return difference.utterance_id in gained or difference.utterance_id in self._mended


def _rejected(dataset: Dataset) -> Iterator[tuple[str, str, str, bool]]:
    """(id, stem, stage, whether another has the id) of all that is in no shard."""
    for shard in dataset.info.shards:
        table = read_table(dataset.layout.rejected(shard.name), schema=REJECTED)
        columns = (table[name].to_pylist() for name in ("utterance_id", "stage", "reason"))
        yield from (
            (name, shard.name, stage, reason == Reason.DUPLICATE_ID)
            for name, stage, reason in zip(*columns, strict=True)
        )


def _withheld(dataset: Dataset) -> Iterator[tuple[tuple[str, str], Row]]:
    """((id, stem), row) of all whose record a verdict keeps out."""
    for shard in dataset.info.shards:
        table = read_table(dataset.layout.withheld_manifest(shard.name), schema=MANIFEST)
        yield from (((row["utterance_id"], shard.name), row) for row in table.select(_JUDGED).to_pylist())


def _changed(judged: list[tuple[str, Utterance]], *, rows: dict[str, Row]) -> Iterator[tuple[str, Utterance]]:
    """Those whose row in the corpus or whose recording is not the one that was judged."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:  # hashing leaves Python's lock
        sums = pool.map(recording_sha256, [element.audio_path for _, element in judged])
        for (stem, element), (digest, reason) in zip(judged, sums, strict=True):
            row = rows[element.id]
            told = element.text, element.language, element.speaker
            then = row["original_text"], row["language"], row["speaker"]
            if not reason and (digest != row["audio_sha256"] or told != then):
                yield stem, element


def _ids(tables: Iterable[StoragePath]) -> Iterator[str]:
    """The ids in all of them."""
    for path in tables:
        yield from read_table(path, columns=["utterance_id"])["utterance_id"].to_pylist()


def _tried(
    elements: list[tuple[str, Utterance]], *, config: BuildConfig, data: StoragePath, runner: str, lock: Lock
) -> set[str]:
    """The ids of those that give a record now."""
    work = Staging.of_new_build(Layout(data))
    name = new_job_name("replay")
    try:
        work.tried.mkdir(parents=True)
        with (
            show_progress(work.progress, label="rejected utterances", total=len(elements)),
            registered_job(lock, runner=runner, name=name, work=name),  # of no use to another
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

    def __init__(self, config: BuildConfig, *, staging: StoragePath):
        self._config, self._staging = config, Staging(staging)

    def setup(self) -> None:
        self._prepare = preparation(self._config)

    def process(self, grouped: tuple[str, Iterable[Utterance]]) -> None:
        stem, utterances = grouped
        try:
            tally, gained = ProgressCounter(self._staging.progress, name=stem), []
            for utterance in utterances:
                if not isinstance(self._prepare(utterance), Rejection):
                    gained.append(utterance.id)
                tally.add()
            write_json(self._staging.tried / f"{stem}.json", gained, durable=False)
        except OSError as error:
            raise UserError(disk_message(error, staging=self._staging.root)) from error
