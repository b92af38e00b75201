"""Raw corpora to a published dataset.

sources ─ readers ─► Utterance references ─► shard by hash of the id
   GroupByKey on the shard (references only: a mel in a shuffle costs 4 to 9 times its size in memory)
   ─► measure, a shard at a time: decode, mel, tokens, quality            one record in memory
   ─► select, all at once: columns in, verdicts out                       no mel in memory
   ─► settle, a shard at a time: kept and withheld records, tables, sums
driver: every shard's report in ─► totals, budget ─► publish
"""

from __future__ import annotations

import contextlib
import fcntl
import time
from collections.abc import Iterator
from pathlib import Path

import apache_beam as beam

from pipelines.config import BuildConfig
from pipelines.measure import MeasureShard, contract_of, disk_message, preparation
from pipelines.plan import Element, Plan, plan_build
from pipelines.progress import show_progress
from pipelines.publish import check_budget, collect_reports, publish
from pipelines.reuse import published_shards
from pipelines.runners import choose_workers, run_graph
from pipelines.selection import Select
from pipelines.settle import SettleShard
from pipelines.staging import Staging
from preprocess.corpora import read_corpus
from preprocess.corpora.source import SourceConfig
from shared.dataset import Contract, DatasetInfo, Layout
from shared.errors import UserError


def build_dataset(config: BuildConfig, *, data: Path, runner: str = "local") -> DatasetInfo:
    """Build, judge and publish; an older dataset at `data` stays as it is until all of that has gone well.

    Shards of it whose inputs are the same are not decoded again, and those that stay the same are not touched.

    Raises:
        UserError: the corpora, the tokenizer, the disk, or too many rejections.
    """
    started_s = time.monotonic()
    prepare = preparation(config)  # a bad tokenizer is told now, not by a worker
    contract = contract_of(prepare)
    plan = plan_build(config)
    staging = Staging.of_new_build(Layout(data))
    with _sole_writer(data):
        try:
            staging.make()
            _write_shards(config, plan=plan, contract=contract, data=data, staging=staging, runner=runner)
            reports = collect_reports(plan, staging=staging)
            check_budget(reports, config=config, staging=staging)
            return publish(
                reports,
                config=config,
                contract=contract,
                tokenizer=prepare.tokenizer,
                data=Layout(data),
                staging=staging,
                seconds=time.monotonic() - started_s,
            )
        except OSError as error:
            raise UserError(disk_message(error, staging=staging.root)) from error


def _write_shards(
    config: BuildConfig, *, plan: Plan, contract: Contract, data: Path, staging: Staging, runner: str
) -> None:
    """Run the graph, with a progress bar."""
    workers = choose_workers(config.workers, utterances=plan.listed)
    label = f"{plan.listed} utterances, {sum(plan.shards.values())} shards, {workers} worker{'s' * (workers > 1)}"
    with show_progress(staging.progress, label=label, total=plan.listed):
        run_graph(
            lambda pipeline: build_graph(
                pipeline, config, plan=plan, contract=contract, data=data, staging=staging.root
            ),
            runner=runner,
            workers=workers,
        )


def build_graph(
    pipeline: beam.Pipeline, config: BuildConfig, *, plan: Plan, contract: Contract, data: Path, staging: Path
) -> beam.PCollection[str]:
    """The stems of the shards that were settled."""
    published = published_shards(Layout(data), contract=contract)
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
        | beam.ParDo(MeasureShard(config, data=data, staging=staging, published=published))  # stem
    )
    return (
        measured
        | beam.Map(lambda stem: (None, stem))
        | "All shards" >> beam.GroupByKey()  # (None, stems)
        | beam.Values()
        | beam.ParDo(Select(config, staging=staging))  # stem
        | "Spread again" >> beam.Reshuffle()
        | beam.ParDo(SettleShard(contract, data=data, staging=staging))  # stem
    )


def read_keyed(named: tuple[str, SourceConfig], plan: Plan) -> Iterator[tuple[str, Element]]:
    """(stem, utterance or rejection) of one source."""
    name, source = named
    for element in read_corpus(source, name=name):
        yield str(plan.stem_of(element, source=name)), element


@contextlib.contextmanager
def _sole_writer(data: Path) -> Iterator[None]:
    """Hold the dataset's lock, which the system gives back however this process ends.

    Raises:
        UserError: another build holds it, or there can be no such folder.
    """
    try:
        data.mkdir(parents=True, exist_ok=True)
        with (data / ".lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
    except BlockingIOError as error:
        raise UserError(f"{data}: another build is writing here; wait for it, or end it") from error
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}; wanted a folder that can be written to") from error
