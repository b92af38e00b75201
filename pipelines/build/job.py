"""The shards of a dataset, assembled in a staging folder by one Beam job.

sources ─ readers ─► Utterance references ─► shard by hash of the id
   GroupByKey on the shard (references only: a mel in a shuffle costs 4 to 9 times its size in memory)
   ─► measure, a shard at a time: decode, mel, tokens, quality            one record in memory
   ─► select, all at once: columns in, verdicts out                       no mel in memory
   ─► settle, a shard at a time: kept and withheld records, tables, sums
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import apache_beam as beam
import click

from pipelines.build.filter_utterances import Select
from pipelines.build.incremental import measuring
from pipelines.build.prepare_shards import MeasureShard, contract_of, disk_message
from pipelines.build.publish import Published, collect_reports, publish, stage_description
from pipelines.build.shard_plan import Plan, read_keyed
from pipelines.build.shard_selection import Scope
from pipelines.build.staging import Staging
from pipelines.build.write_shards import SettleShard, ShardReport
from pipelines.config import BuildConfig, config_document
from pipelines.execution.leftover_jobs import end_leftover_job, registered_job
from pipelines.execution.progress import show_progress
from pipelines.execution.runners import choose_workers, new_job_name, run_graph
from preprocess.record import Preparation
from shared.dataset import DatasetInfo
from shared.errors import UserError
from shared.layout import Layout
from shared.locks import Lock
from shared.publication import check_folders
from shared.storage_path import StoragePath


class Assembly:
    """One job's work on one dataset, whose lock the caller holds."""

    def __init__(self, config: BuildConfig, *, prepare: Preparation, data: StoragePath, runner: str, lock: Lock):
        self._config, self._runner, self._lock = config, runner, lock
        self._data, self._staging = Layout(data), Staging.of_new_build(Layout(data))
        self._prepare, self.contract = prepare, contract_of(prepare)
        self._measuring = measuring(self.contract, decode_limit_s=config.decode_limit_s)
        self._work = hashlib.blake2b(self._measuring.encode() + config_document(config), digest_size=16).hexdigest()

    @property
    def staged(self) -> Layout:
        """The dataset in the making."""
        return self._staging.layout

    def end_leftover_job(self) -> None:
        """See to the job of a driver that was killed: its shards may be of use here."""
        end_leftover_job(self._lock, work=self._work if self._staging.has_left(measuring=self._measuring) else None)

    def assemble(self, plan: Plan, *, scope: Scope) -> list[ShardReport]:
        """Run the graph, with a progress bar; the reports of the planned shards.

        Raises:
            UserError: of the corpora, or of the disk.
        """
        workers = choose_workers(self._config.workers, utterances=plan.listed, runner=self._runner)
        label = f"{plan.listed} utterances, {sum(plan.shards.values())} shards, {workers} worker{'s' * (workers > 1)}"
        try:
            check_folders((self._data.staging, *self._data.folders), root=self._data.root)
            self.end_leftover_job()
            left = self._staging.make(measuring=self._measuring)
            name = new_job_name("build")
            with (
                show_progress(self._staging.progress, label=label, total=plan.listed),
                registered_job(self._lock, runner=self._runner, name=name, work=self._work),
            ):
                run_graph(
                    lambda pipeline: self._graph(pipeline, plan=plan, scope=scope, left=[one.root for one in left]),
                    runner=self._runner,
                    workers=workers,
                    name=name,
                )
            return collect_reports(plan, staging=self._staging)
        except KeyboardInterrupt:
            click.echo("interrupted: nothing was published; the next run takes over what is finished", err=True)
            raise
        except OSError as error:
            raise UserError(disk_message(error, staging=self._staging.root)) from error

    def describe(self, reports: Sequence[ShardReport]) -> DatasetInfo:
        """Write the files that are of the dataset as a whole into the staging folder."""
        try:
            return stage_description(
                reports,
                config=self._config,
                contract=self.contract,
                tokenizer=self._prepare.tokenizer,
                staging=self._staging,
            )
        except OSError as error:
            raise UserError(disk_message(error, staging=self._staging.root)) from error

    def discard(self) -> None:
        """Leave nothing of what was assembled."""
        self._staging.discard()

    def publish(self, info: DatasetInfo, *, keep_in: StoragePath | None = None) -> Published:
        """Make what was assembled and described the dataset."""
        try:
            return publish(info, data=self._data, staging=self._staging, keep_in=keep_in)
        except OSError as error:
            raise UserError(disk_message(error, staging=self._staging.root)) from error

    def _graph(
        self, pipeline: beam.Pipeline, *, plan: Plan, scope: Scope, left: Sequence[StoragePath]
    ) -> beam.PCollection[str]:
        """The stems of the shards that were settled."""
        config, data, staging = self._config, self._data.root, self._staging.root
        # every planned shard is written, also one that no utterance falls into
        empty = pipeline | "Stems" >> beam.Create([(str(stem), None) for stem in plan.stems()])
        keyed = (
            pipeline
            | "Sources" >> beam.Create(sorted(config.sources.items()))  # (name, SourceConfig)
            | "Read" >> beam.FlatMap(read_keyed, plan=plan)  # (stem, Utterance | Rejection)
        )
        measured = (
            (empty, keyed)
            | beam.Flatten()
            | "By shard" >> beam.GroupByKey()  # (stem, elements)
            | "Spread" >> beam.Reshuffle()
            | beam.ParDo(MeasureShard(config, scope=scope, data=data, staging=staging, left=left))  # stem
        )
        return (
            measured
            | beam.WithKeys(None)
            | "All shards" >> beam.GroupByKey()  # (None, stems)
            | beam.Values()
            | beam.ParDo(Select(config, staging=staging))  # stem
            | "Spread again" >> beam.Reshuffle()
            | beam.ParDo(SettleShard(self.contract, data=data, staging=staging))  # stem
        )
