"""`myxtts-data score`."""

from __future__ import annotations

import contextlib
import json
import signal
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shared.config import load_config
from shared.messages import counted

if TYPE_CHECKING:
    from pipelines.score.score import Scored

ID = "utterance_id"
COLUMNS = ("dnsmos_ovrl", "dnsmos_sig", "dnsmos_bak", "dnsmos_p808")
_SHOWN_PERCENT = (5, 25, 50, 75, 95)


@click.command()
@click.argument("config", type=click.Path(path_type=Path))
@click.argument("overrides", nargs=-1)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="The table, CSV.")
@click.option("--workers", type=click.IntRange(min=1), help="Recordings at a time; by default, one for each core.")
def score(config: Path, overrides: tuple[str, ...], out: Path, workers: int | None) -> None:
    """Score the recordings of CONFIG's corpora by DNSMOS: a table for the setting `scores` of a source.

    Utterances that the table has are left out, so that the same command continues. Exit 0: all recordings have scores,
    1: some could not be read.
    """
    from pipelines.config import BuildConfig

    build_config = load_config(config, of=BuildConfig, overrides=overrides)
    from pipelines.score.score import list_utterances
    from pipelines.score.score import score as score_recordings
    from pipelines.tables.csv_table import CsvTable
    from preprocess.dnsmos import check_dnsmos

    check_dnsmos()
    table = CsvTable(out, columns=(ID, *COLUMNS), key=ID)
    count = sum(1 for _ in list_utterances(build_config, known=table.keys))
    new = list_utterances(build_config, known=table.keys)
    done = score_recordings(new, max_duration_s=build_config.decode_limit_s, workers=workers)
    scored, problems = 0, 0
    try:
        with contextlib.closing(done):
            for one in _with_progress(done, count=count):
                if one.problem:
                    click.echo(f"{one.utterance.audio_path}: {one.problem}", err=True)
                    problems += 1
                else:
                    table.add([{ID: one.utterance.id} | _cells(one.scores)])
                    scored += 1
    except KeyboardInterrupt:
        click.echo(f"interrupted: {out} has {scored:,} of {counted(count, 'recording')}; the same command continues")
        sys.exit(128 + signal.SIGINT)
    click.echo(f"{out}: {counted(scored, 'recording')} scored, {problems:,} that cannot be read")
    if table.keys:
        click.echo(f"the table had {counted(len(table.keys), 'recording')} already")
    _show_distribution(out)
    sys.exit(1 if problems else 0)


def _cells(scores: Mapping[str, float]) -> dict[str, str]:
    return {name: f"{scores[name.removeprefix('dnsmos_')]:.3f}" for name in COLUMNS}


def _with_progress(done: Iterator[Scored], *, count: int) -> Iterator[Scored]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = MofNCompleteColumn(), TextColumn("recordings"), BarColumn(), TextColumn("left"), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("", total=count)
        for one in done:
            yield one
            bar.advance(task)


def _show_distribution(path: Path) -> None:
    """Print what share of the table's recordings has a lower score, and the setting that reads the table."""
    import numpy as np

    from preprocess.corpora.columns import ScoreBounds
    from preprocess.corpora.scores import read_scores

    tables = {name: read_scores(name, ScoreBounds(file=path, id=ID, min=1)).by_id for name in COLUMNS}
    if not tables[COLUMNS[0]]:
        return
    click.echo("share of the recordings below:" + "".join(f"{percent:6} %" for percent in _SHOWN_PERCENT))
    for name, by_id in tables.items():
        values = np.nanpercentile(list(by_id.values()), _SHOWN_PERCENT)
        click.echo(f"  {name:28}" + "".join(f"{value:8.2f}" for value in values))
    lowest = np.nanpercentile(list(tables[COLUMNS[0]].values()), _SHOWN_PERCENT[0])
    click.echo("a source takes the recordings that a bound leaves by its setting")
    click.echo(f"  scores: {{{COLUMNS[0]}: {{file: {json.dumps(str(path), ensure_ascii=False)}, min: {lowest:.1f}}}}}")
