"""`myxtts-data score`."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shared.config import load_config
from shared.interrupt import exit_interrupted
from shared.messages import counted

if TYPE_CHECKING:
    from pipelines.config import BuildConfig
    from pipelines.score.measures import Measure
    from pipelines.score.score import Scored
    from pipelines.tables.csv_table import CsvTable

ID = "utterance_id"
_SHOWN_PERCENT = (5, 25, 50, 75, 95)


@click.command()
@click.argument("config", type=click.Path(path_type=Path))
@click.argument("overrides", nargs=-1)
@click.option(
    "--of",
    "name",
    type=click.Choice(["dnsmos", "speech", "speaker", "text-language"]),
    default="dnsmos",
    show_default=True,
    help="What is measured.",
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="The table, CSV.")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Recordings at a time; by default, one for each core. text-language has one process.",
)
def score(config: Path, overrides: tuple[str, ...], name: str, out: Path, workers: int | None) -> None:
    """Score the utterances of CONFIG's corpora: a table for the setting `scores` of a source.

    `dnsmos` predicts how listeners would rate each recording, `speech` finds how much of it is speech, `speaker` how
    much it sounds like others of its speaker, and `text-language` how likely each text is in the stated language.

    Utterances that the table has are left out, so that the same command continues. Exit 0: all have scores, 1: some
    recordings could not be read.
    """
    from pipelines.config import BuildConfig

    if workers and name == "text-language":
        raise click.UsageError(f"--workers: {name} is measured by one process; leave this option out")
    build_config = load_config(config, of=BuildConfig, overrides=overrides)
    from pipelines.score.measures import MEASURES
    from pipelines.tables.csv_table import CsvTable

    measure = MEASURES[name]
    measure.check()
    table = CsvTable(out, columns=(ID, *measure.columns, *measure.words), key=ID)
    scored, unscored, problems = 0, 0, 0
    try:
        with contextlib.closing(_scored(build_config, measure=measure, table=table, workers=workers)) as found:
            for one in found:
                if one.problem:
                    click.echo(f"{one.utterance.audio_path}: {one.problem}", err=True)
                    problems += 1
                elif not one.scores:
                    unscored += 1
                else:
                    table.add([{ID: one.utterance.id} | {key: _cell(value) for key, value in one.scores.items()}])
                    scored += 1
    except KeyboardInterrupt:
        exit_interrupted(f"interrupted: {counted(scored, measure.looks_at)} scored now; the same command continues")
    click.echo(f"{out}: {counted(scored, measure.looks_at)} scored, {problems:,} that cannot be read")
    if unscored:
        what = f"{counted(unscored, measure.looks_at)} {measure.without}"
        click.echo(f"no {measure.columns[0]}: {what}, not in the table")
    if table.keys:
        click.echo(f"the table had {counted(len(table.keys), measure.looks_at)} already")
    _show_distribution(out, measure=measure)
    sys.exit(1 if problems else 0)


def _cell(value: float | str) -> str:
    """A cell of the table, empty for a score that there is not; of a small number, the digits that count."""
    if isinstance(value, str):
        return value
    return "" if math.isnan(value) else f"{value:.3f}" if abs(value) >= 0.1 else f"{value:.3g}"


def _scored(config: BuildConfig, *, measure: Measure, table: CsvTable, workers: int | None) -> Generator[Scored]:
    """Score what the table has not, and show how far that is."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from pipelines.score.score import list_elements
    from preprocess.utterance import Reason, Rejection, Utterance

    new, bad_rows, known = 0, 0, table.keys
    for element in list_elements(config):
        new += isinstance(element, Utterance) and element.id not in known
        bad_rows += isinstance(element, Rejection) and element.reason != Reason.NOT_SELECTED
    if bad_rows:
        click.echo(f"left out: {counted(bad_rows, 'row')} of the metadata, which a build rejects", err=True)

    def listed() -> Iterator[Utterance]:
        return (one for one in list_elements(config) if isinstance(one, Utterance))

    what = TextColumn(f"{measure.looks_at}s")
    columns = MofNCompleteColumn(), what, BarColumn(), TextColumn("left"), TimeRemainingColumn()
    bar = Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty())
    found = measure.score(
        lambda: (one for one in listed() if one.id not in known),
        listed=listed,
        max_duration_s=config.decode_limit_s,
        workers=workers,
    )
    with bar, contextlib.closing(found):
        task = bar.add_task("", total=new)
        for one in found:
            yield one
            bar.advance(task)


def _show_distribution(path: Path, *, measure: Measure) -> None:
    """Print what share of the table's utterances has a lower score, and the setting that reads the table."""
    import numpy as np

    from preprocess.corpora.columns import ScoreBounds
    from preprocess.corpora.scores import read_scores

    bounds = ScoreBounds(file=path, id=ID, min=1)
    tables = {name: np.array(list(read_scores(name, bounds).by_id.values())) for name in measure.columns}
    known = {name: scores[~np.isnan(scores)] for name, scores in tables.items()}
    first = measure.columns[0]
    if unknown := len(tables[first]) - len(known[first]):
        click.echo(f"no {first}: {counted(unknown, measure.looks_at)} {measure.without}; any bound leaves them out")
    if not len(known[first]):
        return
    click.echo(f"share of the {measure.looks_at}s below:" + "".join(f"{percent:6} %" for percent in _SHOWN_PERCENT))
    for name, scores in known.items():
        if not len(scores):
            continue
        values = np.percentile(scores, _SHOWN_PERCENT)
        click.echo(f"  {name:28}" + "".join(f"{value:8.2f}" for value in values))
    lowest = measure.bound(known[first])
    click.echo(f"{np.mean(known[first] < lowest):.1%} have a {first} below {lowest:.2f}")
    file = json.dumps(str(path.absolute()), ensure_ascii=False)
    click.echo("a source takes the utterances that a bound leaves by its setting")
    click.echo(f"  scores: {{{first}: {{file: {file}, min: {lowest:.2f}}}}}")
