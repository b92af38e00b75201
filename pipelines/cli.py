"""myxtts-data: build, validate and describe datasets."""

from __future__ import annotations

import logging
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipelines.doctor import doctor
from pipelines.execution.flink.commands import flink
from pipelines.storage.locations import dataset_path
from shared.config import load_config
from shared.errors import UserError
from shared.locks import read_lock
from shared.stderr import ignore_stderr_errors
from shared.storage_path import StoragePath

if TYPE_CHECKING:
    from pipelines.config import BuildConfig

# Apache Beam takes seconds to import, and warns on import: each command brings in its job when it runs, after
# the usage was checked and the warning silenced.

_WHERE = "Folder of the dataset, or gs://, s3://, hdfs://…"
_data = click.option("--data", type=dataset_path, metavar="PATH", required=True, help=_WHERE)
_runner = click.option("--runner", type=click.Choice(["local", "flink"]), default="local", show_default=True)
_accept_changes = click.option(
    "--accept-changes", is_flag=True, help="Go on although the corpora have changed underneath."
)
_break_lock = click.option("--break-lock", is_flag=True, help="The writer that the lock names is gone.")


def _of_a_published_dataset(command: Callable[..., None]) -> Callable[..., None]:
    """The words of a job that makes parts of a dataset anew from its corpora."""
    for option in (
        *(_accept_changes, _break_lock, _runner, _data),
        click.argument("overrides", nargs=-1),
        click.argument("config", required=False, type=click.Path(path_type=Path)),
    ):
        command = option(command)
    return command


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Speech corpora to validated TFRecord shards."""


@cli.command()
@click.argument("config", type=click.Path(path_type=Path))
@click.argument("overrides", nargs=-1)
@_data
@_runner
@_break_lock
@click.option(
    "--plan",
    is_flag=True,
    help="Say what there is and what it would cost on this machine, whatever the runner; build and lock nothing.",
)
def build(
    config: Path, overrides: tuple[str, ...], data: StoragePath, runner: str, break_lock: bool, plan: bool
) -> None:
    """Build a dataset as CONFIG says; OVERRIDES such as sources.ljspeech.root=/data/LJSpeech-1.1 come last."""
    from pipelines.build.build_dataset import build_dataset
    from pipelines.build.dry_run import estimate_build
    from pipelines.config import BuildConfig
    from pipelines.job_summaries import build_summary, estimate_summary

    wanted = load_config(config, of=BuildConfig, overrides=overrides)
    if plan:
        click.echo(estimate_summary(estimate_build(wanted)))
        return
    started_s = time.monotonic()
    published = build_dataset(wanted, data=data, runner=runner, break_lock=break_lock)
    click.echo(build_summary(published, data=data, seconds=time.monotonic() - started_s))
    click.echo(f"what it holds, to look at and to listen to: {_refreshed_report(data)}")


def _refreshed_report(data: StoragePath) -> StoragePath:
    """The page of what is there now."""
    from pipelines.report import refresh_report
    from shared.dataset import Dataset

    with read_lock(data):
        return refresh_report(Dataset.open(data))


@cli.command()
@click.argument("reader", required=False)
def corpora(reader: str | None) -> None:
    """List the corpora that can be read, and the layout and options of each (or of one READER)."""
    from pipelines.job_summaries import corpora_summary
    from preprocess.corpora import READERS

    if reader is not None and reader not in READERS:
        raise UserError(f"unknown reader {reader!r}; known: {', '.join(sorted(READERS))}")
    click.echo(corpora_summary([reader] if reader else sorted(READERS)))


@cli.command()
@_data
@_runner
@click.option("--workers", type=click.IntRange(min=1), help="Processes; without it, by the size of the job.")
@click.option(
    "--changed/--full", help="Read only what is not as the last inspection found it clean, or everything (the default)."
)
def validate(data: StoragePath, runner: str, workers: int | None, changed: bool) -> None:
    """Check every byte and every claim of a dataset; exit 0 clean, 1 with findings, 2 on misuse."""
    from pipelines.validation.terminal import validation_summary
    from pipelines.validation.validate import validate_dataset

    if workers is not None and runner != "local":
        raise UserError(f"--workers {workers}: a job on Flink has as many as the cluster has slots; leave it out")
    with read_lock(data):
        report = validate_dataset(data, runner=runner, workers=workers, changed=changed)
    click.echo(validation_summary(report, data=data))
    sys.exit(1 if report.findings else 0)


@cli.command()
@_of_a_published_dataset
def repair(
    config: Path | None,
    overrides: tuple[str, ...],
    data: StoragePath,
    runner: str,
    break_lock: bool,
    accept_changes: bool,
) -> None:
    """Make damaged files again, to the same bytes, and put the damaged ones into DATA/quarantine.

    CONFIG and OVERRIDES, those of the build, are needed only where DATA/config.yaml is damaged too.
    """
    from pipelines.job_summaries import repair_summary
    from pipelines.repair.repair import repair_dataset

    wanted = _config_of(config, overrides)
    repair = repair_dataset(data, config=wanted, runner=runner, accept_changes=accept_changes, break_lock=break_lock)
    click.echo(repair_summary(repair, data=data))
    if not repair.is_aborted:
        _refreshed_report(data)
    sys.exit(1 if repair.is_aborted or repair.remaining else 0)


@cli.command()
@_of_a_published_dataset
def replay(
    config: Path | None,
    overrides: tuple[str, ...],
    data: StoragePath,
    runner: str,
    break_lock: bool,
    accept_changes: bool,
) -> None:
    """Try rejected utterances again; write only those shards anew that gain one.

    Of those that a threshold turned away, the ones whose recording or row is not what was judged: for another
    threshold, build again.

    CONFIG and OVERRIDES, those of the build, are needed only where DATA/config.yaml is damaged.
    """
    from pipelines.job_summaries import replay_summary
    from pipelines.repair.replay import replay_dataset

    wanted = _config_of(config, overrides)
    replay = replay_dataset(data, config=wanted, runner=runner, accept_changes=accept_changes, break_lock=break_lock)
    click.echo(replay_summary(replay, data=data))
    if not replay.is_aborted:
        _refreshed_report(data)
    sys.exit(1 if replay.is_aborted else 0)


def _config_of(config: Path | None, overrides: tuple[str, ...]) -> BuildConfig | None:
    from pipelines.config import BuildConfig

    return None if config is None else load_config(config, of=BuildConfig, overrides=overrides)


@cli.command()
@_data
def report(data: StoragePath) -> None:
    """Write report.html anew: totals, histograms, rejections, and clips to see and hear."""
    from pipelines.report import write_report
    from shared.dataset import Dataset

    with read_lock(data):
        path = write_report(Dataset.open(data))
    click.echo(path)


@cli.command()
@click.argument("a", type=dataset_path)
@click.argument("b", type=dataset_path)
@click.option("--out", type=click.Path(path_type=Path), help="Everything, as a page (.html) or a document (.json).")
def compare(a: StoragePath, b: StoragePath, out: Path | None) -> None:
    """What changed from dataset A to B, by utterance and in distribution; exit 0 equal, 1 with differences."""
    from pipelines.compare import compare_datasets, write_comparison
    from pipelines.compare.terminal import comparison_summary
    from shared.dataset import Dataset

    if out is not None and out.suffix not in (".html", ".json"):
        raise UserError(f"--out {out}: wanted a name that ends in .html or .json")
    with read_lock(a), read_lock(b):
        before, after = Dataset.open(a), Dataset.open(b)
        comparison = compare_datasets(before, after)
    click.echo(comparison_summary(comparison))
    if out is not None:
        write_comparison(comparison, path=out)
        click.echo(f"everything: {out}")
    sys.exit(0 if comparison.are_equal else 1)


@cli.command()
@click.argument("what")
@_data
@click.option("--mel", type=click.Path(path_type=Path), help="Draw the mel into this PNG.")
@click.option("--json", "as_json", is_flag=True, help="For machines.")
@click.option("--reproduce", is_flag=True, help="Prepare the utterance again; compare the two records.")
def trace(what: str, data: StoragePath, mel: Path | None, as_json: bool, reproduce: bool) -> None:
    """From an utterance to its record, audio file and parameters, and back; exit 0, or 1 where that is not sound.

    WHAT is an id (source/id), a place (shards/….tfrecord:INDEX or ….tfrecord@BYTE), or an audio file.
    """
    from pipelines.trace.command import is_ok
    from pipelines.trace.command import trace as trace_in
    from pipelines.trace.terminal import details_summary
    from shared.dataset import Dataset

    with read_lock(data):
        dataset = Dataset.open(data)
        utterances = trace_in(dataset, what, mel=mel, reproduce=reproduce)
    for details in utterances:
        click.echo(details.model_dump_json() if as_json else details_summary(details, root=data))
    sys.exit(0 if all(map(is_ok, utterances)) else 1)


cli.add_command(doctor)
cli.add_command(flink)


def main() -> None:
    """The console command; a user's mistake is one line and exit code 2, an interrupt is one line and 130."""
    ignore_stderr_errors()
    _quiet_logs()
    try:
        cli(standalone_mode=False)
    except UserError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    except OSError as error:  # of a disk or a store: they name the file
        if error.filename is None:
            raise
        what_to_do = "see that it can be reached, read and written to, then give the same command again"
        click.echo(f"error: {error.filename}: {error.strerror}; {what_to_do}", err=True)
        sys.exit(2)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted: nothing is half published; the same command goes on from what is done", err=True)
        sys.exit(128 + signal.SIGINT)


def _quiet_logs() -> None:
    """Keep the libraries' notes about themselves off the user's terminal; their errors stay."""
    logging.getLogger().addFilter(lambda record: "apitools" not in record.getMessage())
    logging.getLogger("apache_beam").setLevel(logging.ERROR)
    logging.getLogger("apache_beam.runners.common").addFilter(_is_not_told_anyway)
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # each of its retries would be told twice


def _is_not_told_anyway(record: logging.LogRecord) -> bool:
    """Not the traceback of what ends in one line of ours."""
    return record.exc_info is None or not isinstance(record.exc_info[1], (UserError, KeyboardInterrupt))
