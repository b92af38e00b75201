"""Check whether a run has learnt to speak: `python -m tests.learn.check RUN DATA`; writes RUN/learn_check.json.

The model speaks sentences in both voices, each with a reference clip that was not in training. Griffin-Lim or a vocoder
turns the mels into sound, and pocketsphinx recognizes the words. Exit 0: every bound is met, 1: one is missed, 2: a
usage error.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from shared.dataset import Dataset
from shared.errors import UserError
from shared.files import write_bytes
from trainer.platform.tf_setup import start_tensorflow


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "--step", type=click.IntRange(min=0), help="Step of the checkpoint, by default the last; 0 is before training."
)
@click.option(
    "--clips", type=click.IntRange(min=2), default=48, show_default=True, help="Training clips to synthesize."
)
@click.option(
    "--vocoder",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A vocoder file that turns mels into sound in the place of Griffin-Lim.",
)
def main(run: Path, data: Path, step: int | None, clips: int, vocoder: Path | None) -> None:
    """Check a RUN that was trained on DATA."""
    start_tensorflow()
    import json

    from rich.console import Console

    from tests.learn.learn_check import measure_run
    from tests.learn.results import as_document, results_table

    try:
        examined, lines = measure_run(run, dataset=Dataset.open(data), step=step, trained_clips=clips, vocoder=vocoder)
    except UserError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    Console(highlight=False).print(results_table(lines, title=f"{run} after step {examined}"))
    judged = as_document(lines, step=examined)
    write_bytes(run / "learn_check.json", json.dumps(judged, indent=1).encode())
    sys.exit(0 if judged["passed"] else 1)


if __name__ == "__main__":
    main()
