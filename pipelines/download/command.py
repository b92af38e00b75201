"""`myxtts-data download`."""

from __future__ import annotations

from pathlib import Path

import click

from shared.errors import UserError
from shared.interrupt import exit_interrupted


@click.command()
@click.argument("name", required=False)
@click.option(
    "--to", type=click.Path(path_type=Path), default=Path("data"), show_default=True, help="Folder for corpora."
)
@click.option("--keep-archive", is_flag=True, help="Do not delete the archive after it is unpacked.")
def download(name: str | None, to: Path, keep_archive: bool) -> None:
    """Download and unpack the corpus NAME; without a name, list those that can be downloaded."""
    from pipelines.download.archives import ARCHIVES
    from pipelines.download.terminal import archives_table, next_steps

    if name is None:
        click.echo(archives_table())
        return
    if name not in ARCHIVES:
        raise UserError(f"{name}: cannot be downloaded; expected one of {', '.join(ARCHIVES)}")
    from pipelines.download.download import download as download_corpus

    try:
        download_corpus(ARCHIVES[name], to=to, keep_archive=keep_archive)
    except KeyboardInterrupt:
        exit_interrupted("interrupted: what was downloaded is kept; the same command continues")
    click.echo(next_steps(name, to=to))
