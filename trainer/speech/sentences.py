"""Divides a text into the pieces that the model speaks one after another: sentences, or parts of long ones.

sentencex (MIT licence) finds the sentences by the rules of the language, so that abbreviations and decimals do not end
a sentence. It takes some ordinals for the end of one, such as the German "am 3. Mai"; these sentences are joined again.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import sentencex

from preprocess.text import spoken_characters
from preprocess.verbalization.verbalize import verbalize
from shared.languages import iso_639_1

# Silence after a piece, by what follows it.
PART_PAUSE_S, SENTENCE_PAUSE_S, PARAGRAPH_PAUSE_S = 0.1, 0.3, 0.7

MAX_TOKEN_CHARACTERS = 16  # a text with more characters per allowed token is divided without being counted
SHORT_PART = 3  # a part of less than this fraction of the longest is avoided
MIN_CHARACTERS = 4  # shorter sentences, such as "M." of a name, are spoken with the next one

_PARAGRAPHS = re.compile(r"\s*\n\s*\n\s*")
# where a long sentence may be divided, the best place first
_NOT_IN_A_NUMBER = r"(?!(?<=\d.)\d)"  # as in 12:30 and 3,50
_DIVIDERS = tuple(
    map(
        re.compile,
        (
            rf"[;:；：؛]{_NOT_IN_A_NUMBER}\s*|\s+(?=[—–])",
            rf"[,，、،]{_NOT_IN_A_NUMBER}\s*",
            r"\s+",
            r"(?<=.)(?=.)",
        ),
    )
)
_NUMBER_AT_END = re.compile(r"\d\.\s*$")


class TextPiece(NamedTuple):
    """Text that is spoken at once, and the silence after it."""

    text: str
    pause_s: float


def paragraphs_of(text: str) -> list[str]:
    """The paragraphs of a text, which empty lines separate."""
    return _PARAGRAPHS.split(text.strip())


def split_text(text: str, *, language: str) -> list[TextPiece]:
    """Divide a text into sentences; an empty line separates paragraphs.

    Sentences without a letter or digit are left out.

    Args:
        language: FLORES-200 code; for a language that sentencex does not know it uses general rules.
    """
    pieces: list[TextPiece] = []
    for paragraph in paragraphs_of(text):
        found = sentencex.segment(iso_639_1(language), " ".join(paragraph.split()))
        sentences = list(_joined(_with_ordinals(found, language=language)))
        if sentences:
            pieces += [TextPiece(one, SENTENCE_PAUSE_S) for one in sentences[:-1]]
            pieces.append(TextPiece(sentences[-1], PARAGRAPH_PAUSE_S))
    return [*pieces[:-1], *(one._replace(pause_s=0.0) for one in pieces[-1:])]


def _with_ordinals(sentences: list[str], *, language: str) -> Iterator[str]:
    """Join a sentence that ends with a number and a dot with the next one, if this decides how the number is read."""
    held = ""
    for sentence in sentences:
        if _NUMBER_AT_END.search(held) and not _reads_alone(held, following=sentence, language=language):
            held += sentence
            continue
        if held:
            yield held
        held = sentence
    if held:
        yield held


def _reads_alone(sentence: str, *, following: str, language: str) -> bool:
    alone = verbalize(sentence, language=language).rstrip()
    return verbalize(sentence + following, language=language).startswith(alone)


def _joined(sentences: Iterable[str]) -> Iterator[str]:
    """Join each sentence of less than MIN_CHARACTERS letters and digits with the next one."""
    short = ""
    for sentence in sentences:
        short += sentence
        if len(spoken_characters(short)) >= MIN_CHARACTERS:
            yield short.strip()
            short = ""
    if spoken_characters(short):
        yield short.strip()


def fit_piece(piece: TextPiece, *, count: Callable[[str], int], most: int) -> list[TextPiece]:
    """Divide a piece whose length `count` is above `most`: at semicolons, at commas, between words, within a word.

    The parts are as few as possible.
    """
    parts = _fit(piece.text, count=count, most=most, dividers=_DIVIDERS)
    if len(parts) > 1 and min(map(count, parts)) * SHORT_PART < most:
        parts = _balanced(piece.text, parts, count=count, most=most)
    return [TextPiece(one, PART_PAUSE_S) for one in parts[:-1]] + [TextPiece(parts[-1], piece.pause_s)]


def _balanced(text: str, parts: list[str], *, count: Callable[[str], int], most: int) -> list[str]:
    """As many parts whose longest is as short as possible without dividing words; a very short one is hard to speak."""
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        shorter = _fit(text, count=count, most=middle, dividers=_DIVIDERS[:-1])
        if len(shorter) <= len(parts) and max(map(count, shorter)) <= middle:
            parts, high = shorter, middle
        else:
            low = middle + 1
    return parts


def _fit(text: str, *, count: Callable[[str], int], most: int, dividers: tuple[re.Pattern[str], ...]) -> list[str]:
    if count(text) <= most or not dividers:
        return [text]
    ends = [match.end() for match in dividers[0].finditer(text)]
    parts = [text[start:end] for start, end in itertools.pairwise([0, *ends, len(text)])]
    fitted = [""]
    for part in parts:
        if len(fitted[-1]) + len(part) <= MAX_TOKEN_CHARACTERS * most and count((fitted[-1] + part).strip()) <= most:
            fitted[-1] += part
        elif spoken_characters(part):  # rows of signs that do not fit are left out
            fitted += _fit(part, count=count, most=most, dividers=dividers[1:])
    return [part.strip() for part in fitted if spoken_characters(part)]
