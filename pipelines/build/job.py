"""The Beam job of a build: it makes all shards of a dataset in a staging folder.

The driver lists the corpora into tables, in the order of the hashes that choose the shards. Then:

shard names ─► prepare, a shard at a time: its rows of the listing; decode, mel, tokens, quality    one record in memory
   ─► filter, all shards at once: columns in, reasons out           the mels of possible copies, a few at a time
   ─► write, a shard at a time: kept and filtered records, tables, sums

Beam passes the names of shards on, never utterances or mels: a mel in a shuffle costs 4 to 9 times its size in memory.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Iterable, Sequence

import apache_beam as beam
import click

from pipelines.build.crash_guard import noted_in
from pipelines.build.dataset_info import write_dataset_files
from pipelines.build.disk_errors import translate_disk_errors
from pipelines.build.filter_utterances import FilterUtterances
from pipelines.build.incremental import ReusePolicy, preparation_fingerprint
from pipelines.build.listing import Listing
from pipelines.build.preparation import create_contract
from pipelines.build.prepare_shards import PrepareShard
from pipelines.build.provenance import PROCESSOR, MadeBy, made_here, merged
from pipelines.build.publish import Published, publish
from pipelines.build.shard_plan import ShardPlan
from pipelines.build.shard_report import ShardReport, read_reports
from pipelines.build.staging import Staging
from pipelines.build.write_shards import WriteShard
from pipelines.config import BuildConfig, config_document
from pipelines.execution.leftover_jobs import end_leftover_job, registered_job
from pipelines.execution.progress import show_progress
from pipelines.execution.runners import choose_workers, new_job_name, run_graph
from preprocess.record import Preparation
from shared.dataset import DatasetInfo
from shared.layout import Layout
from shared.locks import Lock
from shared.messages import first_few
from shared.publication import check_folders
from shared.storage_path import StoragePath

# To take over this many utterances costs about as much as to prepare one: 0.6 ms of CPU against 8
# (`make bench BENCHES=growth`).
TAKEN_OVER_PER_NEW = 12

MAX_NAMED = 5  # utterances in a message


class BuildJob:
    """One job on one dataset; the caller holds the dataset's lock."""

    def __init__(self, config: BuildConfig, *, prepare: Preparation, data: StoragePath, runner: str, lock: Lock):
        self._config, self._runner, self._lock = config, runner, lock
        self._data, self._staging = Layout(data), Staging.for_new_build(Layout(data))
        self._prepare, self.contract = prepare, create_contract(prepare)
        self._fingerprint = preparation_fingerprint(self.contract, decode_limit_s=config.decode_limit_s)
        # the versions of here; after `run` also those of the interrupted builds and of the workers
        self.made_by: MadeBy = made_here(pitch=config.pitch)
        self._work = hashlib.blake2b(self._fingerprint.encode() + config_document(config), digest_size=16).hexdigest()

    @property
    def staged(self) -> Layout:
        """The layout of the staged dataset."""
        return self._staging.layout

    def end_leftover_job(self) -> None:
        """Wait for the cluster job of a killed driver if this job can reuse its shards, else cancel that job."""
        interrupted = self._staging.interrupted(fingerprint=self._fingerprint)
        end_leftover_job(self._lock, work=self._work if interrupted else None)

    def run(self, plan: ShardPlan, *, listing: Listing, reuse: ReusePolicy) -> list[ShardReport]:
        """Run the graph with a progress bar, and return the reports of the planned shards.

        Raises:
            UserError: a corpus cannot be read, or the disk fails.
        """
        work = plan.expected_new + plan.listed // TAKEN_OVER_PER_NEW
        workers = choose_workers(self._config.workers, utterances=work, runner=self._runner)
        label = f"{plan.listed} utterances, {sum(plan.shards.values())} shards, {workers} worker{'s' * (workers > 1)}"
        try:
            with translate_disk_errors(staging=self._staging.root):
                check_folders((self._data.staging, self._data.build_cache, *self._data.folders), root=self._data.root)
                self.end_leftover_job()
                left = self._staging.create(fingerprint=self._fingerprint, made_by=self.made_by)
                _say_what_crashed(noted_in(left))
                interrupted = [one.root for one in left]
                listing.save(self._staging.listing_folder)
                name = new_job_name("build")
                with (
                    show_progress(self._staging.progress_folder, label=label, total=plan.listed),
                    registered_job(self._lock, runner=self._runner, name=name, work=self._work),
                ):
                    run_graph(
                        lambda pipeline: self._graph(pipeline, plan=plan, reuse=reuse, interrupted=interrupted),
                        runner=self._runner,
                        workers=workers,
                        name=name,
                        blame=self._blame,
                    )
                reports = read_reports(map(str, plan.shard_names()), staging=self._staging)
                workers_here = {PROCESSOR: tuple(report.processor for report in reports if report.processor)}
                self.made_by = functools.reduce(merged, (*(one.made_by() for one in left), workers_here), self.made_by)
                return reports
        except KeyboardInterrupt:
            with contextlib.suppress(OSError):
                self._staging.interrupted_path.write_text("")
            click.echo("interrupted: nothing was published; the next run takes over what is finished", err=True)
            raise

    def _blame(self) -> str:
        """What the workers were preparing when one of them died."""
        ids = noted_in([self._staging])
        return f"while the workers prepared {_listed(ids)}" if ids else "(out of memory?)"

    def write_dataset_files(self, reports: Sequence[ShardReport], *, made_by: MadeBy) -> DatasetInfo:
        """Write the files that describe the whole dataset into the staging folder.

        Args:
            made_by: the versions that had a part in it.
        """
        with translate_disk_errors(staging=self._staging.root):
            return write_dataset_files(
                reports,
                config=self._config,
                contract=self.contract,
                tokenizer=self._prepare.tokenizer,
                made_by=made_by,
                staging=self._staging,
            )

    def discard(self) -> None:
        """Remove the staging folder."""
        self._staging.remove()

    def publish(self, info: DatasetInfo, *, keep_in: StoragePath | None = None) -> Published:
        """Publish the staged dataset; replaced files are kept in `keep_in`."""
        with translate_disk_errors(staging=self._staging.root):
            return publish(info, data=self._data, staging=self._staging, keep_in=keep_in)

    def _graph(
        self, pipeline: beam.Pipeline, *, plan: ShardPlan, reuse: ReusePolicy, interrupted: Sequence[StoragePath]
    ) -> beam.PCollection[str]:
        """The names of the shards that were written."""
        config, data, staging = self._config, self._data.root, self._staging.root
        prepared = (
            pipeline
            | "Shard names" >> beam.Create([str(name) for name in plan.shard_names()])  # which spreads them
            | beam.ParDo(
                PrepareShard(
                    config,
                    contract=self.contract,
                    reuse=reuse,
                    data=data,
                    staging=staging,
                    interrupted=interrupted,
                    made_by=self.made_by,
                )
            )  # shard name
        )
        return (
            prepared
            | beam.WithKeys(None)
            | "All shards" >> beam.GroupByKey()  # (None, shard names)
            | beam.Values()
            | beam.ParDo(FilterUtterances(config, data=data, staging=staging))  # shard name
            | "Spread" >> beam.Reshuffle()
            | beam.ParDo(WriteShard(self.contract, data=data, staging=staging))  # shard name
        )


def _say_what_crashed(ids: Iterable[str]) -> None:
    if found := _listed(ids):
        what = "an earlier build ended while it prepared"
        click.echo(f"{what} {found}: each is prepared in a process of its own first", err=True)


def _listed(ids: Iterable[str]) -> str:
    """The first of these ids, in words."""
    return first_few(sorted(ids), most=MAX_NAMED)
