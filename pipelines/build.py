"""Raw corpora to a published dataset.

sources ─ readers ─► Utterance references ─► shard by hash of the id
   GroupByKey on the shard (references only: a mel in a shuffle costs 4 to 9 times its size in memory)
   ─► one DoFn call per shard: decode, mel, tokens, encode, write
driver: every shard's report in ─► totals, budget ─► publish
"""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import apache_beam as beam

from pipelines.config import BuildConfig
from pipelines.plan import Element, Plan, plan_build
from pipelines.progress import show_progress
from pipelines.publish import check_budget, collect_reports, publish
from pipelines.runners import choose_workers, run_graph
from pipelines.shards import WriteShard, disk_message, preparation
from preprocess.corpora import read_corpus
from preprocess.corpora.source import SourceConfig
from shared.dataset import DatasetInfo, Layout
from shared.errors import UserError


def build_dataset(config: BuildConfig, *, data: Path, runner: str = "local") -> DatasetInfo:
    """Build, judge and publish; an older dataset at `data` stays as it is until all of that has gone well.

    Raises:
        UserError: the corpora, the tokenizer, the disk, or too many rejections.
    """
    started_s = time.monotonic()
    prepare = preparation(config)  # a bad tokenizer is told now, not by a worker
    plan = plan_build(config)
    final, staging = Layout(data), Layout(Layout(data).staging)
    with _sole_writer(data):
        _make_folders(staging)
        _write_shards(config, plan=plan, staging=staging, runner=runner)
        reports = collect_reports(plan, staging=staging)
        check_budget(reports, config=config, staging=staging)
        seconds = time.monotonic() - started_s
        try:
            return publish(reports, config=config, prepare=prepare, data=final, staging=staging, seconds=seconds)
        except OSError as error:
            raise UserError(disk_message(error, staging=staging.root)) from error


def _write_shards(config: BuildConfig, *, plan: Plan, staging: Layout, runner: str) -> None:
    """Run the graph, with a progress bar."""
    workers = choose_workers(config.workers, utterances=plan.listed)
    label = f"{plan.listed} utterances, {sum(plan.shards.values())} shards, {workers} worker{'s' * (workers > 1)}"
    with show_progress(staging.root / "progress", label=label, total=plan.listed):
        run_graph(
            lambda pipeline: build_graph(pipeline, config, plan=plan, staging=staging.root),
            runner=runner,
            workers=workers,
        )


def build_graph(pipeline: beam.Pipeline, config: BuildConfig, *, plan: Plan, staging: Path) -> beam.PCollection[str]:
    """The stems of the shards that were written."""
    # every planned shard is written, also one that no utterance falls into
    empty = pipeline | "Stems" >> beam.Create([(str(stem), None) for stem in plan.stems()])
    keyed = (
        pipeline
        | "Sources" >> beam.Create(sorted(config.sources.items()))  # (name, SourceConfig)
        | "Read" >> beam.FlatMap(read_keyed, plan=plan)  # (stem, Utterance | Rejection)
    )
    return (
        (empty, keyed)
        | beam.Flatten()
        | beam.GroupByKey()  # (stem, elements)
        | beam.Reshuffle()
        | beam.ParDo(WriteShard(config, staging=staging))  # stem
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


def _make_folders(staging: Layout) -> None:
    """An empty staging folder; what an interrupted build left in it goes."""
    if staging.root.exists():
        shutil.rmtree(staging.root)
    for folder in ("shards", "manifest", "rejected", "reports", "progress"):
        (staging.root / folder).mkdir(parents=True)
