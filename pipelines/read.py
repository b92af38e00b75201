"""The command `read`: how a text is read in a language, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from preprocess.phonemizer import Phonemizer
    from preprocess.text_normalizer import TextNormalizer


@click.command()
@click.argument("texts", nargs=-1)
@click.option("--language", required=True, metavar="LANGUAGE", help="A code such as deu_Latn or de.")
@click.option("--normalizer", metavar="NAME", help="Entry point of the text normalizer that gets each text first.")
@click.option("--phonemes", is_flag=True, help="Show the phonemes too, as `phonemizer: espeak-ng` makes them.")
def read(texts: tuple[str, ...], language: str, normalizer: str | None, phonemes: bool) -> None:
    """Show what a build makes of TEXTS, or of the lines of standard input, and the reason for each reading."""
    from preprocess.text_normalizer import load_normalizer
    from shared.languages import resolve_language

    code = resolve_language(language)
    loaded = None if normalizer is None else load_normalizer(normalizer)
    phonemizer = None
    if phonemes:
        from preprocess.phonemizer import load_phonemizer

        phonemizer = load_phonemizer()
    for text in texts or _lines():
        for line in explain(text, language=code, normalizer=loaded, phonemizer=phonemizer):
            click.echo(line)


def explain(
    text: str, *, language: str, normalizer: TextNormalizer | None = None, phonemizer: Phonemizer | None = None
) -> Iterator[str]:
    """Yield the text, the text as it is read, its phonemes, a line for each reading, and a line for what was left."""
    from preprocess.text import prepare_text
    from preprocess.verbalization.readings import Reading
    from preprocess.verbalization.verbalize import words_with_digits

    readings: list[Reading] = []
    prepared = prepare_text(text, language=language, normalizer=normalizer, readings=readings)
    yield text
    yield f"  {prepared.text}"
    if phonemizer is not None:
        yield f"  {phonemizer(prepared.text, language=language)}"
    for reading in readings:
        yield f"    {reading.kind}: {reading.written.strip()} -> {reading.words.strip()}"
    if prepared.unread_numbers:
        left = words_with_digits(prepared.text, language=language)
        reason = f"no reading is certain: {' '.join(left)}" if left else f"numbers are not read in {language}"
        yield f"    left: {reason}"


def _lines() -> Iterator[str]:
    with click.open_file("-", encoding="utf-8", errors="replace") as stdin:
        for line in stdin:
            if line.strip():
                yield line.strip()
