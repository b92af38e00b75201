"""The command line of the data side, `myxtts-data`: build, validate, repair, report, compare and trace datasets."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipelines.doctor import doctor
from pipelines.download.command import download
from pipelines.execution.flink.commands import flink
from pipelines.export.command import export
from pipelines.read import read
from pipelines.score.command import score
from pipelines.segment.command import segment
from pipelines.storage.locations import data_option, dataset_path
from shared.config import load_config
from shared.errors import UserError
from shared.interrupt import exit_interrupted
from shared.locks import read_lock
from shared.stderr import ignore_stderr_errors
from shared.storage_path import StoragePath

if TYPE_CHECKING:
    from pipelines.config import BuildConfig

# Apache Beam takes seconds to import and warns during its import. Each command imports its job only after it has
# checked its arguments and its config; `main` silences the warning before.

_runner = click.option("--runner", type=click.Choice(["local", "flink", "spark"]), default="local", show_default=True)
_accept_changes = click.option(
    "--accept-changes", is_flag=True, help="Continue even if the corpora have changed since the build."
)
_break_lock = click.option("--break-lock", is_flag=True, help="Take the lock: the process that it names has ended.")


def _rebuild_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of a command that rebuilds parts of a dataset from its corpora."""
    for option in (
        *(_accept_changes, _break_lock, _runner, data_option),
        click.argument("overrides", nargs=-1),
        click.argument("config", required=False, type=click.Path(path_type=Path)),
    ):
        command = option(command)
    return command


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Convert speech corpora into validated TFRecord shards."""


@cli.command()
@click.argument("config", type=click.Path(path_type=Path))
@click.argument("overrides", nargs=-1)
@data_option
@_runner
@_break_lock
@click.option(
    "--plan",
    is_flag=True,
    help="Dry run: list the corpora and estimate size and time of a local build; write nothing.",
)
def build(
    config: Path, overrides: tuple[str, ...], data: StoragePath, runner: str, break_lock: bool, plan: bool
) -> None:
    """Build the dataset of CONFIG; OVERRIDES such as sources.ljspeech.root=/data/LJSpeech-1.1 replace its values."""
    from pipelines.config import BuildConfig

    build_config = load_config(config, of=BuildConfig, overrides=overrides)
    from pipelines.job_summaries import build_summary, estimate_summary, unreleased_mels

    if (warning := unreleased_mels(build_config)) is not None:
        click.echo(warning, err=True)
    if plan:
        from pipelines.build.dry_run import estimate_build

        click.echo(estimate_summary(estimate_build(build_config)))
        return
    from pipelines.build.build_dataset import build_dataset

    started_s = time.monotonic()
    published = build_dataset(build_config, data=data, runner=runner, break_lock=break_lock)
    seconds = time.monotonic() - started_s
    page = _refresh_report(data)  # before anything is printed: a closed pipe, such as that of `head`, ends the command
    click.echo(build_summary(published, data=data, seconds=seconds))
    click.echo(f"report of the dataset, with clips to hear: {page}")


def _refresh_report(data: StoragePath) -> StoragePath:
    """Write report.html unless it is up to date, and the descriptions for other software; return the page's path."""
    from pipelines.descriptions.refresh import refresh_descriptions
    from pipelines.report import refresh_report
    from shared.dataset import Dataset

    with read_lock(data):
        dataset = Dataset.open(data)
        page = refresh_report(dataset)
        refresh_descriptions(dataset)
        return page


@cli.command()
@click.argument("reader", required=False)
def corpora(reader: str | None) -> None:
    """List the readers of corpora with the layout and the options of each (or of one READER)."""
    from preprocess.corpora import READERS

    if reader is not None and reader not in READERS:
        raise UserError(f"unknown reader {reader!r}; known: {', '.join(sorted(READERS))}")
    from pipelines.job_summaries import corpora_summary

    click.echo(corpora_summary([reader] if reader else sorted(READERS)))


@cli.command()
@data_option
@_runner
@click.option("--workers", type=click.IntRange(min=1), help="Number of processes; by default, by the size of the job.")
@click.option(
    "--changed/--full", help="Read only files that changed since the last clean validation, or all files (the default)."
)
def validate(data: StoragePath, runner: str, workers: int | None, changed: bool) -> None:
    """Check every byte and every statement of a dataset; exit 0: clean, 1: findings, 2: wrong usage."""
    if workers is not None and runner == "flink":
        raise UserError(f"--workers {workers}: a job on Flink uses all slots of the cluster; leave this option out")
    from pipelines.validation.terminal import validation_summary
    from pipelines.validation.validate import validate_dataset

    with read_lock(data):
        report = validate_dataset(data, runner=runner, workers=workers, changed=changed)
    click.echo(validation_summary(report, data=data))
    sys.exit(1 if report.findings else 0)


@cli.command()
@_rebuild_options
def repair(
    config: Path | None,
    overrides: tuple[str, ...],
    data: StoragePath,
    runner: str,
    break_lock: bool,
    accept_changes: bool,
) -> None:
    """Make damaged files again from the corpora, with the same bytes; move the damaged ones into DATA/quarantine.

    CONFIG and OVERRIDES of the build are needed only if DATA/config.yaml is damaged too.
    """
    build_config = _load_optional_config(config, overrides)
    from pipelines.job_summaries import repair_summary
    from pipelines.repair.repair import repair_dataset

    result = repair_dataset(
        data, config=build_config, runner=runner, accept_changes=accept_changes, break_lock=break_lock
    )
    click.echo(repair_summary(result, data=data))
    if not result.is_aborted:
        _refresh_report(data)
    sys.exit(1 if result.is_aborted or result.remaining else 0)


@cli.command()
@_rebuild_options
def replay(
    config: Path | None,
    overrides: tuple[str, ...],
    data: StoragePath,
    runner: str,
    break_lock: bool,
    accept_changes: bool,
) -> None:
    """Try rejected utterances again; write only the shards that gain one.

    An utterance that a threshold rejected is tried only if its recording, text, language or speaker has changed. To
    change a threshold, build again.

    CONFIG and OVERRIDES of the build are needed only if DATA/config.yaml is damaged.
    """
    build_config = _load_optional_config(config, overrides)
    from pipelines.job_summaries import replay_summary
    from pipelines.repair.replay import replay_dataset

    result = replay_dataset(
        data, config=build_config, runner=runner, accept_changes=accept_changes, break_lock=break_lock
    )
    click.echo(replay_summary(result, data=data))
    if not result.is_aborted:
        _refresh_report(data)
    sys.exit(1 if result.is_aborted else 0)


def _load_optional_config(config: Path | None, overrides: tuple[str, ...]) -> BuildConfig | None:
    from pipelines.config import BuildConfig

    return None if config is None else load_config(config, of=BuildConfig, overrides=overrides)


@cli.command()
@data_option
def report(data: StoragePath) -> None:
    """Write report.html (totals, histograms, rejections, clips to see and hear) and the descriptions again."""
    from pipelines.descriptions.refresh import refresh_descriptions
    from pipelines.report import missing_recordings, write_report
    from shared.dataset import Dataset

    with read_lock(data):
        dataset = Dataset.open(data)
        path = write_report(dataset)
        refresh_descriptions(dataset)
    if line := missing_recordings(dataset):
        click.echo(line, err=True)
    click.echo(path)


@cli.command()
@click.argument("a", type=dataset_path)
@click.argument("b", type=dataset_path)
@click.option("--out", type=click.Path(path_type=Path), help="Write the whole comparison as .html or .json.")
def compare(a: StoragePath, b: StoragePath, out: Path | None) -> None:
    """Compare datasets A and B by utterance and by distribution; exit 0: equal, 1: different."""
    if out is not None and out.suffix not in (".html", ".json"):
        raise UserError(f"--out {out}: unknown format; expected a name that ends in .html or .json")
    from pipelines.compare import compare_datasets, write_comparison
    from pipelines.compare.terminal import DIFFERENT, comparison_summary
    from shared.dataset import Dataset

    with read_lock(a), read_lock(b):
        before, after = Dataset.open(a), Dataset.open(b)
        comparison = compare_datasets(before, after)
        click.echo(comparison_summary(comparison))
        if out is not None:
            write_comparison(comparison, path=out)
            click.echo(f"whole comparison: {out}")
    if not comparison.are_equal:
        click.echo(DIFFERENT)
        sys.exit(1)


@cli.command()
@click.argument("what")
@data_option
@click.option("--mel", type=click.Path(path_type=Path), help="Draw the mel into this PNG.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per utterance.")
@click.option("--reproduce", is_flag=True, help="Prepare the utterance again; compare the two records.")
def trace(what: str, data: StoragePath, mel: Path | None, as_json: bool, reproduce: bool) -> None:
    """Show an utterance's record, audio file and parameters; exit 0: they agree, 1: they do not.

    WHAT is an id (source/id), a record (shards/….tfrecord:INDEX or ….tfrecord@BYTE), or an audio file.
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


for command in (download, read, segment, score, export, doctor, flink):
    cli.add_command(command)


def main() -> None:
    """The console command.

    A UserError or a failing disk is printed as one line, with exit code 2; an interrupt too, with exit code 130.
    """
    ignore_stderr_errors()
    _quiet_logs()
    try:
        cli(standalone_mode=False)
    except UserError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    except OSError as error:  # a disk or an object store failed; the error names the file
        if error.filename is None:
            raise
        what_to_do = "make sure that it can be reached, read and written, then run the same command again"
        click.echo(f"error: {error.filename}: {error.strerror}; {what_to_do}", err=True)
        sys.exit(2)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        exit_interrupted(
            "interrupted: the dataset is either unchanged or complete; run the same command again to continue"
        )


def _quiet_logs() -> None:
    """Hide the libraries' warnings and notes from the terminal; their errors stay visible."""
    logging.getLogger().addFilter(lambda record: "apitools" not in record.getMessage())
    logging.getLogger("apache_beam").setLevel(logging.ERROR)
    logging.getLogger("apache_beam.runners.common").addFilter(_is_not_reported_by_main)
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # it would log each retry twice


def _is_not_reported_by_main(record: logging.LogRecord) -> bool:
    """False for a traceback of an error that `main` prints as one line."""
    return record.exc_info is None or not isinstance(record.exc_info[1], (UserError, KeyboardInterrupt))
