"""Divides a text into the pieces that the model speaks one after another: sentences, or parts of long ones.

sentencex (MIT licence) finds the sentences by the rules of the language, so that decimals and most abbreviations do not
end a sentence. It takes some abbreviations and ordinals for the end of one, such as the French "Dr. Müller" and the
German "am 3. Mai". Where the text preparation reads the two parts otherwise together than alone, they are joined again.
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
PART_PAUSE_S, CLAUSE_PAUSE_S, SENTENCE_PAUSE_S, PARAGRAPH_PAUSE_S = 0.1, 0.2, 0.3, 0.7
CLAUSE_ENDS = (*";:；：؛",)

MAX_TOKEN_CHARACTERS = 16  # a text with more characters per allowed token is divided without being counted
SHORT_PART = 3  # a part of less than this fraction of the longest is avoided
MIN_CHARACTERS = 4  # shorter sentences are spoken with the next one, the last one with the one before

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
# an abbreviation or an ordinal, perhaps: longer words are not checked, because the check takes longer than the division
_SHORT_LAST_WORD = re.compile(r"\b\w{1,6}\.[\s\"'’”»)\]]*$")
MAX_END_CHARACTERS = 20
MOST_DOTS = 3  # in an abbreviation, such as "s. v. p."
CONTEXT_WORDS = 12  # around a dot, which decide how an abbreviation or an ordinal is read


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
        sentences = _joined(_with_abbreviations(found, language=language))
        if sentences:
            pieces += [TextPiece(one, SENTENCE_PAUSE_S) for one in sentences[:-1]]
            pieces.append(TextPiece(sentences[-1], PARAGRAPH_PAUSE_S))
    return [*pieces[:-1], *(one._replace(pause_s=0.0) for one in pieces[-1:])]


def _with_abbreviations(sentences: list[str], *, language: str) -> Iterator[str]:
    """Join a sentence that ends with an abbreviation or ordinal with the next one, if this decides how it is read."""
    held = ""
    for place, sentence in enumerate(sentences):
        following = "".join(sentences[place : place + MOST_DOTS])
        if _SHORT_LAST_WORD.search(held[-MAX_END_CHARACTERS:]) and not _reads_alone(
            held, following=following, language=language
        ):
            held += sentence
            continue
        if held:
            yield held
        held = sentence
    if held:
        yield held


def _reads_alone(sentence: str, *, following: str, language: str) -> bool:
    """Whether the end of a sentence is read as it is read before the beginning of the following one."""
    end = " ".join(sentence.split()[-CONTEXT_WORDS:])
    beginning = " " * sentence[-1:].isspace() + " ".join(following.split()[:CONTEXT_WORDS])
    alone = verbalize(end, language=language)
    return alone.endswith(end[-1]) and verbalize(end + beginning, language=language).startswith(alone)


def _joined(sentences: Iterable[str]) -> list[str]:
    """Join each sentence below MIN_CHARACTERS letters and digits with the next one, the last with the one before."""
    joined, short = list[str](), ""
    for sentence in sentences:
        short += sentence
        if len(spoken_characters(short)) >= MIN_CHARACTERS:
            joined.append(short)
            short = ""
    if spoken_characters(short):
        joined[-1:] = ["".join([*joined[-1:], short])]
    return [sentence.strip() for sentence in joined]


def fit_piece(piece: TextPiece, *, count: Callable[[str], int], most: int) -> list[TextPiece]:
    """Divide a piece whose length `count` is above `most`: at semicolons, at commas, between words, within a word.

    The parts are as few as possible.
    """
    parts = _fit(piece.text, count=count, most=most, dividers=_DIVIDERS)
    if len(parts) > 1 and min(map(count, parts)) * SHORT_PART < most:
        parts = _balanced(piece.text, parts, count=count, most=most)
    pauses_s = [CLAUSE_PAUSE_S if one.endswith(CLAUSE_ENDS) else PART_PAUSE_S for one in parts[:-1]]
    return list(map(TextPiece, parts, [*pauses_s, piece.pause_s]))


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
