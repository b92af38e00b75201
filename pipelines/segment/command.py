"""`myxtts-data segment`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shared.errors import UserError
from shared.interrupt import exit_interrupted
from shared.messages import counted

if TYPE_CHECKING:
    from pipelines.segment.segment import Segmented


@click.command()
@click.argument("root", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="The table, CSV.")
@click.option(
    "--min", "min_s", type=click.FloatRange(0.1, 60), default=1.0, show_default=True, help="Seconds of the least part."
)
@click.option(
    "--max",
    "max_s",
    type=click.FloatRange(1, 600),
    default=20.0,
    show_default=True,
    help="Seconds of the longest part.",
)
@click.option(
    "--pause",
    "pause_s",
    type=click.FloatRange(0.2, 10),
    default=0.5,
    show_default=True,
    help="Seconds of a pause that ends a part.",
)
@click.option("--workers", type=click.IntRange(min=1), help="Recordings at a time; by default, one for each core.")
def segment(root: Path, out: Path, min_s: float, max_s: float, pause_s: float, workers: int | None) -> None:
    """Cut the recordings below ROOT at pauses: a table of parts with speech, whose texts you fill in.

    Recordings that the table has are left out, so that the same command continues. Exit 0: all recordings were cut,
    1: some could not be read.
    """
    if min_s >= max_s:
        raise UserError(f"--min {min_s} is not below --max {max_s}; expected a shorter least part")
    from pipelines.segment.parts_table import PartsTable
    from pipelines.segment.segment import find_recordings
    from pipelines.segment.segment import segment as segment_recordings
    from preprocess.clip_division import ClipLengths
    from preprocess.speech_activity import check_speech_activity

    check_speech_activity()
    recordings = find_recordings(root)
    table = PartsTable(out, root=root)
    new = [path for path in recordings if not table.has(path)]
    done: list[Segmented] = []
    try:
        for one in _with_progress(
            segment_recordings(new, lengths=ClipLengths(min_s, max_s, pause_s), workers=workers), recordings=new
        ):
            table.add(one.path, parts=one.division.clips)
            done.append(one)
    except KeyboardInterrupt:
        exit_interrupted(
            f"interrupted: {out} has {len(done)} of {counted(len(new), 'recording')}; the same command continues"
        )
    _summarize(done, root=root, out=out, known=len(recordings) - len(new))
    sys.exit(1 if any(one.problem for one in done) else 0)


def _with_progress(done: Iterator[Segmented], *, recordings: list[Path]) -> Iterator[Segmented]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    sizes = {path: path.stat().st_size for path in recordings}
    columns = TextColumn(counted(len(recordings), "recording")), BarColumn(), TextColumn("left"), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("", total=sum(sizes.values()))
        for one in done:
            yield one
            bar.advance(task, sizes[one.path])


def _summarize(done: list[Segmented], *, root: Path, out: Path, known: int) -> None:
    for one in done:
        if one.problem:
            click.echo(f"{one.path}: {one.problem}", err=True)
        elif not one.division.clips:
            click.echo(f"{one.path}: no part with speech", err=True)
        for span in one.division.too_long:
            where = f"{one.path}, {span.start_s:.1f} to {span.end_s:.1f} s"
            click.echo(f"left out, no pause at which to cut: {where}", err=True)
    clips = [clip for one in done for clip in one.division.clips]
    left_out = sum(len(one.division.too_short) + len(one.division.too_long) for one in done)
    unread = sum(bool(one.problem) for one in done)
    hours = sum(one.duration_s for one in done) / 3600, sum(clip.end_s - clip.start_s for clip in clips) / 3600
    parts = f"{counted(len(clips), 'part')}, {hours[1]:.2f} h"
    click.echo(f"{out}: {parts}, of {counted(len(done), 'recording')}, {hours[0]:.2f} h")
    click.echo(f"left out: {counted(left_out, 'region')} too short or too long, {unread:,} that cannot be read")
    if known:
        click.echo(f"the table had {counted(known, 'recording')} already")
    folder, file = (json.dumps(str(path.absolute()), ensure_ascii=False) for path in (root, out))
    columns = "{audio: audio, text: text, start: start, end: end}"
    click.echo("fill in the column `text`, by people or a recogniser; then this source reads the table:")
    click.echo(f"  {{reader: table, root: {folder}, file: {file}, language: …, speaker: …, columns: {columns}}}")
