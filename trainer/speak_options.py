"""The arguments and options that several commands of `myxtts-speak` share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trainer.config.speech_bounds import MAX_GUIDANCE, MAX_SPEECH_S, MAX_SPEED, MAX_TEMPERATURE, MIN_SPEECH_S, MIN_SPEED

if TYPE_CHECKING:
    from trainer.speech.synthesizer import Synthesizer

SYNTHESIZER_OPTIONS = (
    click.argument("run", type=click.Path(path_type=Path)),
    click.option("--checkpoint", help="best, last, or a step; by default the best if there is one, else the last."),
    click.option("--tokenizer", help="Path of the tokenizer, if it has moved since the shards were built."),
    click.option(
        "--vocoder",
        type=click.Path(dir_okay=False, path_type=Path),
        help="A vocoder file, which `myxtts-train vocoder convert` writes; by default Griffin-Lim.",
    ),
)
seconds = click.option(
    "--seconds",
    "max_sentence_s",
    type=click.FloatRange(min=MIN_SPEECH_S, max=MAX_SPEECH_S),
    default=20.0,
    show_default=True,
    help="Maximum duration of a sentence.",
)
SPEECH_OPTIONS = (
    seconds,
    click.option(
        "--seed",
        type=click.IntRange(min=0, max=2**31 - 1),
        default=1,
        show_default=True,
        help="Seed of the noise; another seed gives another reading.",
    ),
    click.option(
        "--temperature",
        type=click.FloatRange(0.0, MAX_TEMPERATURE),
        default=1.0,
        show_default=True,
        help="Scale of the noise; less is more even, 0 is none.",
    ),
    click.option(
        "--stop-threshold",
        type=click.FloatRange(0.0, 1.0),
        default=0.5,
        show_default=True,
        help="Speech ends where the probability of its end exceeds it; guided, once the text is spoken.",
    ),
    click.option(
        "--speed",
        type=click.FloatRange(MIN_SPEED, MAX_SPEED),
        default=1.0,
        show_default=True,
        help="Pace; 2 is twice as fast, at the same pitch.",
    ),
    click.option(
        "--guidance",
        type=click.FloatRange(1.0, MAX_GUIDANCE),
        default=1.0,
        show_default=True,
        help="Above 1: more like the voice's clips, in up to twice the time; needs model.reference_dropout.",
    ),
    click.option(
        "--guided/--unguided",
        "is_guided",
        default=True,
        show_default=True,
        help="Keep attention and end of speech on the text, or leave both to the model.",
    ),
)


def synthesizer_options(command: Callable) -> Callable:
    """RUN and the options of `Synthesizer.load`; the command receives `run`, and `load` for the synthesizer."""

    @functools.wraps(command)
    def with_options(**given: Any) -> object:
        settings = {name: given.pop(name) for name in ("checkpoint", "tokenizer", "vocoder")}

        def load() -> Synthesizer:
            from trainer.speech.request import preparation_difference
            from trainer.speech.synthesizer import Synthesizer

            loaded = Synthesizer.load(given["run"], **settings)
            if difference := preparation_difference(loaded.contract, run=given["run"]):
                click.echo(difference, err=True)
            return loaded

        return command(**given, load=load)

    for option in reversed(SYNTHESIZER_OPTIONS):
        with_options = option(with_options)
    return with_options


def speech_options(command: Callable) -> Callable:
    """The options of SpeechOptions, which the command receives as one argument, `options`."""

    @functools.wraps(command)
    def with_options(**given: Any) -> object:
        from trainer.speech.options import SpeechOptions

        options = SpeechOptions(**{name: given.pop(name) for name in SpeechOptions._fields})
        options.check()
        return command(**given, options=options)

    for option in reversed(SPEECH_OPTIONS):
        with_options = option(with_options)
    return with_options
