"""Check voices that a run never heard: `python -m tests.learn.many_voices.check RUN CORPUS`.

The model speaks held-out sentences in held-out voices, each from one clip of the voice. Exit 0: every bound is met, 1:
one is missed, 2: a usage error. RUN/learn_voices.json has all figures.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from shared.errors import UserError
from shared.files import write_bytes
from tests.learn.many_voices.texts import GRAMMARS
from trainer.platform.tf_setup import start_tensorflow


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("corpus", type=click.Path(path_type=Path))
@click.option("--checkpoint", help="best, last, or a step.")
@click.option(
    "--sentences", type=click.IntRange(1, 12), default=4, show_default=True, help="By each voice in each language."
)
@click.option("--references", type=click.IntRange(1, 11), default=1, show_default=True, help="Clips of each voice.")
@click.option("--guidance", default=1.0, show_default=True, help="Above 1, speech is led towards the voice.")
@click.option("--language", "languages", type=click.Choice(list(GRAMMARS)), multiple=True, help="By default all.")
def main(
    run: Path,
    corpus: Path,
    checkpoint: str | None,
    sentences: int,
    references: int,
    guidance: float,
    languages: tuple[str, ...],
) -> None:
    """Check a RUN that was trained on CORPUS."""
    start_tensorflow()
    import json

    from rich.console import Console

    from tests.learn.many_voices.judge import Judge
    from tests.learn.many_voices.recordings import HeldOut
    from tests.learn.results import as_document, results_table
    from trainer.speech.options import SpeechOptions
    from trainer.speech.speaker_encoder import resemblyzer_encoder
    from trainer.speech.synthesizer import Synthesizer

    options = SpeechOptions(guidance=guidance)
    try:
        options.check()
        synthesizer = Synthesizer.load(run, checkpoint=checkpoint)
        held_out = HeldOut(corpus, synthesizer=synthesizer)
        encoder = resemblyzer_encoder(rate_hz=synthesizer.rate_hz)
        judge = Judge(synthesizer, held_out=held_out, encoder=encoder, references=references, options=options)
        lines = []
        for language in languages or GRAMMARS:
            click.echo(f"{language}: {sentences} sentences in each of {len(held_out.voices)} voices", err=True)
            lines += judge.measure(language, sentences=sentences)
    except UserError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    step = synthesizer.checkpoint.step
    Console(highlight=False).print(results_table(lines, title=f"{run} after step {step}"))
    judged = as_document(lines, step=step)
    write_bytes(run / "learn_voices.json", json.dumps(judged, indent=1).encode())
    sys.exit(0 if judged["passed"] else 1)


if __name__ == "__main__":
    main()
