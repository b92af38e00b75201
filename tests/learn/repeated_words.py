"""How surely the check of texts finds a word that is spoken twice: `python -m tests.learn.repeated_words RUN`.

flite speaks texts in its other voice, as they are and with one word twice. These recordings are judged as the speech of
a model is. Exit 1: fewer than nine tenths are found, or a text without such a word is.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from shared.errors import UserError
from tests.learn.corpus import VOICES
from tests.learn.text_check import Listener, short_texts, with_word_twice, words_of
from trainer.speech.synthesizer import Synthesizer

TEXTS = 60
LEAST_FOUND = 0.9


def texts_with_a_word(count: int, *, seed: int) -> Iterator[tuple[str, str]]:
    """Texts of several words in one sentence, and a word of each."""
    chance = random.Random(seed)
    texts = [text for text in short_texts(5 * count, seed=seed) if "." not in text and " " in text]
    return ((text, chance.choice(words_of(text))) for text in texts[:count])


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
def main(run: Path) -> None:
    """Judge recordings with a word twice, and with each word once, by the features of the RUN of a learn check."""
    try:
        synthesizer = Synthesizer.load(run)
    except UserError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    listener, other = (Listener(synthesizer, voice=voice) for voice in VOICES[:2])
    found = false_alarms = 0
    for text, word in texts_with_a_word(TEXTS, seed=7):
        recording = listener.recording(text)
        once, twice = (
            listener.has_word_twice(mel, text=text, heard=other.hear(mel), recording=recording)
            for mel in map(other.recording, (text, with_word_twice(text, word=word) or text))
        )
        found, false_alarms = found + twice, false_alarms + once
    click.echo(f"a word twice: {found} of {TEXTS} found; each word once: {false_alarms} of {TEXTS}")
    sys.exit(0 if found >= LEAST_FOUND * TEXTS and not false_alarms else 1)


if __name__ == "__main__":
    main()
