"""`myxtts-data export`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from pipelines.storage.locations import data_option
from shared.locks import read_lock
from shared.storage_path import StoragePath


@click.command()
@click.argument("format_", metavar="FORMAT")
@click.argument("out", type=click.Path(path_type=Path))
@data_option
def export(format_: str, out: Path, data: StoragePath) -> None:
    """Copy the dataset into the folder OUT for other software; the same command continues.

    FORMAT is npy, webdataset, parquet, lhotse, or wav: the recordings, resampled and processed as for their mels.
    """
    from pipelines.export.export import export_dataset
    from shared.dataset import Dataset

    def with_progress(shards: list) -> Iterator:
        with click.progressbar(shards, label="shards", file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
            yield from bar

    with read_lock(data):
        dataset = Dataset.open(data)
        count = export_dataset(dataset, out=out, format_=format_, with_progress=with_progress)
    click.echo(f"{out}: {count} of {len(dataset.info.shards)} shards exported now, as {format_}")
