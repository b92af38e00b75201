"""`myxtts-data segment`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shared.errors import UserError

if TYPE_CHECKING:
    from pipelines.segment.segment import Segmented


@click.command()
@click.argument("root", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="The table to write, CSV.")
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
    type=click.FloatRange(0.1, 10),
    default=0.5,
    show_default=True,
    help="Seconds of a pause that always ends a part.",
)
@click.option("--workers", type=click.IntRange(min=1), help="Number of processes; by default, one for each core.")
def segment(root: Path, out: Path, min_s: float, max_s: float, pause_s: float, workers: int | None) -> None:
    """Cut the recordings below ROOT at pauses: a table of parts with speech, whose texts you fill in.

    Exit 0: all recordings were cut, 1: some could not be read.
    """
    if min_s >= max_s:
        raise UserError(f"--min {min_s} is not below --max {max_s}; expected a shorter least part")
    if out.exists():
        raise UserError(f"{out}: exists, and may have texts; expected the path of a new table")
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from pipelines.segment.segment import find_recordings, write_parts
    from pipelines.segment.segment import segment as segment_recordings
    from preprocess.clip_division import ClipLengths

    recordings = find_recordings(root)
    sizes = {path: path.stat().st_size for path in recordings}
    columns = TextColumn(f"{len(recordings)} recordings"), BarColumn(), TextColumn("left"), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("", total=sum(sizes.values()))
        done = list(
            segment_recordings(
                recordings,
                root=root,
                lengths=ClipLengths(min_s, max_s, pause_s),
                workers=workers,
                on_done=lambda path: bar.advance(task, sizes[path]),
            )
        )
    write_parts(out, done)
    _summarize(done, root=root, out=out)
    sys.exit(1 if any(one.problem for one in done) else 0)


def _summarize(done: list[Segmented], *, root: Path, out: Path) -> None:
    for one in done:
        if one.problem:
            click.echo(f"{root / one.path}: {one.problem}", err=True)
        for span in one.division.too_long:
            where = f"{one.path}, {span.start_s:.1f} to {span.end_s:.1f} s"
            click.echo(f"left out, no pause at which to cut: {where}", err=True)
    clips = [clip for one in done for clip in one.division.clips]
    left_out = sum(len(one.division.too_short) + len(one.division.too_long) for one in done)
    unread = sum(bool(one.problem) for one in done)
    hours = sum(one.duration_s for one in done) / 3600, sum(clip.end_s - clip.start_s for clip in clips) / 3600
    click.echo(
        f"{out}: {len(clips):,} parts, {hours[1]:.2f} h, of {len(done):,} recordings, {hours[0]:.2f} h; "
        f"left out: {left_out:,} too short or too long, {unread:,} recordings that cannot be read"
    )
    click.echo("fill in the column `text`, by people or a recogniser; then this source reads the table:")
    columns = "{audio: audio, text: text, start: start, end: end}"
    click.echo(f"  {{reader: table, root: {root}, file: {out.absolute()}, language: …, columns: {columns}}}")
