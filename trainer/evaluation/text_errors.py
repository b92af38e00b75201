"""Word and character errors: the edits that turn what a listener heard into what was to be said."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

import jiwer


class TextErrors(NamedTuple):
    """Edits (substitutions, insertions, deletions) of words and characters, and the number of each in the text."""

    word_errors: int
    words: int
    character_errors: int
    characters: int  # spaces between words included


def plain_words(text: str) -> str:
    """The letters and digits of a text in lower case, words apart by one space; apostrophes join a word."""
    composed = unicodedata.normalize("NFKC", text).casefold().replace("’", "'").replace("'", "")
    return " ".join("".join(one if _is_spoken(one) else " " for one in composed).split())


def _is_spoken(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN"


def text_errors(heard: str, *, said: str) -> TextErrors:
    """Compare two texts by their plain words; `said` has at least one."""
    heard, said = plain_words(heard), plain_words(said)
    words, characters = jiwer.process_words(said, heard), jiwer.process_characters(said, heard)
    return TextErrors(_edits(words), len(said.split()), _edits(characters), len(said))


def _edits(output: jiwer.WordOutput | jiwer.CharacterOutput) -> int:
    return output.substitutions + output.insertions + output.deletions
