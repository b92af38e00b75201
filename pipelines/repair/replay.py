"""Replay: try rejected utterances again, and write only the shards that gain one.

A replay tries every utterance that could not be prepared. Of the utterances that a threshold filtered, it tries those
whose text, language, speaker or recording has changed since: the threshold was applied to the old one. Shards that
gain an utterance are prepared again and filtered together with all others.
"""

from __future__ import annotations

import collections
import concurrent.futures
import json
import os
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import apache_beam as beam

from pipelines.build.crash_guard import noted_in, shard_guard
from pipelines.build.disk_errors import translate_disk_errors
from pipelines.build.incremental import ReusePolicy, preparation_fingerprint
from pipelines.build.job import BuildJob
from pipelines.build.listing import Listing
from pipelines.build.preparation import create_contract, create_preparation
from pipelines.build.provenance import made_here, merged
from pipelines.build.publish import Published
from pipelines.build.result_checks import check_counts, check_rejections
from pipelines.build.shard_plan import ShardPlan, plan_published_shards
from pipelines.build.staging import Staging
from pipelines.config import BuildConfig
from pipelines.execution.leftover_jobs import registered_job
from pipelines.execution.progress import show_progress
from pipelines.execution.progress_counter import ProgressCounter
from pipelines.execution.runners import choose_workers, new_job_name, run_graph
from pipelines.repair.shard_diff import ShardDifference, diff_shard
from pipelines.validation.dataset_files import check_dataset_files
from pipelines.validation.integrity import check_contract, damaged_files, published_config
from preprocess.audio_file import recording_sha256
from preprocess.utterance import FILTER_STAGE, Reason, Rejection, Utterance
from shared.dataset import Dataset
from shared.errors import UserError
from shared.files import write_json
from shared.layout import Layout
from shared.locks import Lock, write_lock
from shared.storage_path import StoragePath
from shared.tables import MANIFEST, REJECTED, read_table

Row = dict[str, Any]

# The inputs of a filtered record.
_INPUT_COLUMNS = ["utterance_id", "original_text", "language", "speaker", "audio_sha256"]


class ReplayResult(NamedTuple):
    """The utterances that a replay tried, and the shards that it changed."""

    tried: int
    recovered: tuple[str, ...]  # ids of utterances that can be prepared now
    filtered: tuple[str, ...]  # recovered utterances that a threshold filters
    shards: tuple[str, ...]  # names of the shards that were written
    published: Published | None
    differences: tuple[ShardDifference, ...]  # of other utterances of these shards

    @property
    def is_aborted(self) -> bool:
        """True if the corpora have other changes too and nothing was written."""
        return bool(self.differences) and self.published is None


def replay_dataset(
    data: StoragePath,
    *,
    config: BuildConfig | None = None,
    runner: str = "local",
    accept_changes: bool = False,
    break_lock: bool = False,
) -> ReplayResult:
    """Try every rejected utterance again; publish those that can be prepared now.

    If other utterances of the same shards have changed too, nothing is written unless `accept_changes`.

    Raises:
        UserError: there is no dataset, another process writes it, or the corpora or the disk fail.
    """
    if not data.is_dir():
        raise UserError(f"{data}: no such directory; expected a dataset")
    with write_lock(data, command="replay", break_lock=break_lock) as lock:
        dataset = Dataset.open(data)
        build_config = _config_of_intact(dataset, given=config)
        prepare = create_preparation(build_config)
        check_contract(create_contract(prepare), published=check_dataset_files(dataset.layout), layout=dataset.layout)
        job = BuildJob(build_config, prepare=prepare, data=data, runner=runner, lock=lock)
        with Listing() as listing:
            return _replay(
                dataset, build_config, job=job, listing=listing, runner=runner, lock=lock, accept_changes=accept_changes
            )


def _replay(
    dataset: Dataset,
    config: BuildConfig,
    *,
    job: BuildJob,
    listing: Listing,
    runner: str,
    lock: Lock,
    accept_changes: bool,
) -> ReplayResult:
    older = {shard.name: shard for shard in dataset.info.shards}
    plan = plan_published_shards(older, config=config, listing=listing)
    candidates = RetryCandidates(dataset, config=config, plan=plan)
    job.end_leftover_job()
    recovered = _retry(candidates.elements, config=config, dataset=dataset, runner=runner, lock=lock)
    changing = candidates.shards_of(recovered)
    result = ReplayResult(len(candidates.elements), tuple(sorted(recovered)), (), (), None, ())
    if not changing:
        return result
    always: dict[str, str | None] = {name: shard.inputs for name, shard in older.items() if name not in changing}
    reports = job.run(plan, listing=listing, reuse=ReusePolicy(take_over={}, always=always))
    check_counts((report for report in reports if report.info.name in changing), listed=plan.listed_in(changing))
    changed = [report.info.name for report in reports if report.info != older[report.info.name]]
    found = [one for name in changed for one in diff_shard(name, older=dataset.layout, newer=job.staged)]
    others = tuple(one for one in found if not candidates.explains(one, recovered=recovered))
    written = (one.info.name for one in reports if one.info.sha256 != older[one.info.name].sha256)
    filtered = recovered - set(_ids(job.staged.manifest(name) for name in changing))
    result = result._replace(differences=others, shards=tuple(written), filtered=tuple(sorted(filtered)))
    if not accept_changes and not all(one.is_filter_only for one in others):
        job.discard()
        return result
    check_rejections(reports, config=config, rejected=job.staged.rejected("any").parent)
    made_by = merged(dataset.info.made_by, job.made_by)
    return result._replace(published=job.publish(job.write_dataset_files(reports, made_by=made_by)))


def _config_of_intact(dataset: Dataset, *, given: BuildConfig | None) -> BuildConfig:
    """The config of a dataset without damaged files: a replay would otherwise publish the damaged files' sums.

    Raises:
        UserError: a file is damaged.
    """
    published, layout = check_dataset_files(dataset.layout), dataset.layout
    damaged = [one.file for one in published.findings]
    names = [shard.name for shard in dataset.info.shards]
    damaged += [
        path.relative_to(layout.root).as_posix() for path in damaged_files(names, published=published, layout=layout)
    ]
    if damaged:
        raise UserError(f"{layout.root}: {damaged[0]} is damaged; run `make repair DATA={layout.root}` first")
    return published_config(layout, published=published, given=given)


class RetryCandidates:
    """The utterances that a replay tries, as the corpora have them today."""

    def __init__(self, dataset: Dataset, *, config: BuildConfig, plan: ShardPlan):
        rejected, filtered_rows = list(_rejected(dataset)), dict(_filtered(dataset))
        # a second utterance with the id of another cannot be prepared
        failed = {name: shard for name, shard, stage, is_twice in rejected if stage != FILTER_STAGE and not is_twice}
        filtered = {name: shard for name, shard, stage, is_twice in rejected if stage == FILTER_STAGE and not is_twice}
        twice = {(name, shard) for name, shard, _, is_twice in rejected if is_twice}
        shard_names = [shard.name for shard in dataset.info.shards]
        known = set(_ids(map(dataset.layout.manifest, shard_names))) | {name for name, *_ in rejected}
        bad_rows, utterances, prepared_before = set(), [], []
        for shard, element in plan.assign(config):
            if isinstance(element, Rejection):
                bad_rows.add(element.id)
            elif element.id in failed or element.id not in known:
                utterances.append((str(shard), element))
            elif element.id in filtered and (element.id, str(shard)) not in twice:
                prepared_before.append((str(shard), element))
        # a bad row of the metadata has an id of its own; once corrected, its utterance appears under another id
        tried = {element.id for _, element in utterances}
        self._corrected_rows = failed.keys() - bad_rows - tried
        rows = {name: filtered_rows[name, shard] for name, shard in filtered.items()}
        changed = list(_changed(prepared_before, rows=rows))
        self._rejected = {element.id: filtered[element.id] for _, element in changed} | failed  # id -> shard name
        self.elements = [
            *((shard, element) for shard, element in utterances if element.id in failed or self._corrected_rows),
            *changed,
        ]

    def shards_of(self, recovered: set[str]) -> set[str]:
        """The shards of these utterances, and the shards whose tables list them as rejected."""
        new = {shard for shard, element in self.elements if element.id in recovered}
        old = {self._rejected[name] for name in recovered if name in self._rejected}
        return new | old | {self._rejected[name] for name in self._corrected_rows if recovered}

    def explains(self, difference: ShardDifference, *, recovered: set[str]) -> bool:
        """Whether a difference concerns an utterance that the replay recovered."""
        return difference.utterance_id in recovered or difference.utterance_id in self._corrected_rows


def _rejected(dataset: Dataset) -> Iterator[tuple[str, str, str, bool]]:
    """(id, shard name, stage, whether another utterance has the id) of each rejected utterance."""
    for shard in dataset.info.shards:
        table = read_table(dataset.layout.rejected(shard.name), schema=REJECTED)
        columns = (table[name].to_pylist() for name in ("utterance_id", "stage", "reason"))
        yield from (
            (name, shard.name, stage, reason == Reason.DUPLICATE_ID)
            for name, stage, reason in zip(*columns, strict=True)
        )


def _filtered(dataset: Dataset) -> Iterator[tuple[tuple[str, str], Row]]:
    """((id, shard name), row) of each filtered record."""
    for shard in dataset.info.shards:
        table = read_table(dataset.layout.withheld_manifest(shard.name), schema=MANIFEST)
        yield from (((row["utterance_id"], shard.name), row) for row in table.select(_INPUT_COLUMNS).to_pylist())


def _changed(utterances: list[tuple[str, Utterance]], *, rows: dict[str, Row]) -> Iterator[tuple[str, Utterance]]:
    """The utterances whose text, language, speaker or recording differs from that of the filtered record."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:  # hashing releases Python's lock
        sums = pool.map(recording_sha256, [element.audio_path for _, element in utterances])
        for (shard_name, element), (digest, reason) in zip(utterances, sums, strict=True):
            row = rows[element.id]
            now = element.text, element.language, element.speaker
            before = row["original_text"], row["language"], row["speaker"]
            if not reason and (digest != row["audio_sha256"] or now != before):
                yield shard_name, element


def _ids(tables: Iterable[StoragePath]) -> Iterator[str]:
    """The ids in all of these tables."""
    for path in tables:
        yield from read_table(path, columns=["utterance_id"])["utterance_id"].to_pylist()


def _retry(
    elements: list[tuple[str, Utterance]], *, config: BuildConfig, dataset: Dataset, runner: str, lock: Lock
) -> set[str]:
    """Prepare these utterances in a Beam job; return the ids of those that give a record now."""
    staging = Staging.for_new_build(dataset.layout)
    name = new_job_name("replay")
    fingerprint = preparation_fingerprint(dataset.info.contract, decode_limit_s=config.decode_limit_s)
    with translate_disk_errors(staging=staging.root):
        crashed = noted_in(staging.create(fingerprint=fingerprint, made_by=made_here(pitch=config.pitch)))
        staging.recovered_folder.mkdir()
        with (
            show_progress(staging.progress_folder, label="rejected utterances", total=len(elements)),
            registered_job(lock, runner=runner, name=name, work=name),  # unique: no later job can use its results
        ):
            run_graph(
                lambda pipeline: (
                    pipeline
                    | beam.Create(elements)  # (shard name, Utterance)
                    | beam.GroupByKey()
                    | beam.Reshuffle()
                    | beam.ParDo(RetryUtterances(config, data=dataset.layout, staging=staging.root, crashed=crashed))
                ),
                runner=runner,
                workers=choose_workers(config.workers, utterances=len(elements), runner=runner),
                name=name,
            )
        recovered = {name for path in staging.recovered_folder.iterdir() for name in json.loads(path.read_bytes())}
        staging.remove()
    return recovered


class RetryUtterances(beam.DoFn):
    """(shard name, utterances) -> nothing; writes the ids of those that give a record into the staging folder."""

    def __init__(self, config: BuildConfig, *, data: Layout, staging: StoragePath, crashed: collections.Counter[str]):
        self._config, self._data, self._staging, self._crashed = config, data, Staging(staging), crashed

    def setup(self) -> None:
        self._prepare = create_preparation(self._config)

    def process(self, grouped: tuple[str, Iterable[Utterance]]) -> None:
        shard_name, utterances = grouped
        utterances = list(utterances)
        guard = shard_guard(
            shard_name,
            prepare=self._prepare,
            utterance_ids=(one.id for one in utterances),
            crashed=self._crashed,
            data=self._data,
            staging=self._staging,
        )
        with translate_disk_errors(staging=self._staging.root), guard as prepare:
            progress, recovered = ProgressCounter(self._staging.progress_folder, name=shard_name), []
            for utterance in utterances:
                if not isinstance(prepare(utterance), Rejection):
                    recovered.append(utterance.id)
                progress.add()
            write_json(self._staging.recovered_folder / f"{shard_name}.json", recovered, durable=False)
