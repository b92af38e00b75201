"""`myxtts-data score`."""

from __future__ import annotations

import contextlib
import json
import math
import signal
import sys
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shared.config import load_config
from shared.messages import counted

if TYPE_CHECKING:
    from pipelines.config import BuildConfig
    from pipelines.score.score import Scored
    from pipelines.tables.csv_table import CsvTable

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
    from pipelines.tables.csv_table import CsvTable
    from preprocess.dnsmos import check_dnsmos

    check_dnsmos()
    table = CsvTable(out, columns=(ID, *COLUMNS), key=ID)
    scored, problems = 0, 0
    try:
        with contextlib.closing(_scored(build_config, table=table, workers=workers)) as found:
            for one in found:
                if one.problem:
                    click.echo(f"{one.utterance.audio_path}: {one.problem}", err=True)
                    problems += 1
                else:
                    table.add([{ID: one.utterance.id} | _cells(one.scores)])
                    scored += 1
    except KeyboardInterrupt:
        click.echo(f"interrupted: {counted(scored, 'recording')} scored now; the same command continues")
        sys.exit(128 + signal.SIGINT)
    click.echo(f"{out}: {counted(scored, 'recording')} scored, {problems:,} that cannot be read")
    if table.keys:
        click.echo(f"the table had {counted(len(table.keys), 'recording')} already")
    _show_distribution(out)
    sys.exit(1 if problems else 0)


def _cells(scores: Mapping[str, float]) -> dict[str, str]:
    return {name: f"{scores[name.removeprefix('dnsmos_')]:.3f}" for name in COLUMNS}


def _scored(config: BuildConfig, *, table: CsvTable, workers: int | None) -> Generator[Scored]:
    """Score what the table has not, and show how far that is."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from pipelines.score.score import list_elements
    from pipelines.score.score import score as score_recordings
    from preprocess.utterance import Reason, Rejection, Utterance

    new, bad_rows = 0, 0
    for element in list_elements(config):
        new += isinstance(element, Utterance) and element.id not in table.keys
        bad_rows += isinstance(element, Rejection) and element.reason != Reason.NOT_SELECTED
    if bad_rows:
        click.echo(f"left out: {counted(bad_rows, 'row')} of the metadata, which a build rejects", err=True)
    utterances = (one for one in list_elements(config) if isinstance(one, Utterance) and one.id not in table.keys)
    columns = MofNCompleteColumn(), TextColumn("recordings"), BarColumn(), TextColumn("left"), TimeRemainingColumn()
    bar = Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty())
    found = score_recordings(utterances, max_duration_s=config.decode_limit_s, workers=workers)
    with bar, contextlib.closing(found):
        task = bar.add_task("", total=new)
        for one in found:
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
    lowest = float(np.nanpercentile(list(tables[COLUMNS[0]].values()), _SHOWN_PERCENT[0]))
    file = json.dumps(str(path.absolute()), ensure_ascii=False)
    click.echo("a source takes the recordings that a bound leaves by its setting")
    click.echo(f"  scores: {{{COLUMNS[0]}: {{file: {file}, min: {math.floor(lowest * 100) / 100:.2f}}}}}")
