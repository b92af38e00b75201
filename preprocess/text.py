"""Text preparation as NLLB-200 was trained with, then numbers and abbreviations in words.

Without the first, curly quotes, dashes and « » become <unk>; without the second, a voice would have to learn to read 7.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from typing import NamedTuple

import regex
import sacremoses

from preprocess.verbalize import count_numbers, protect_numbers, verbalize
from shared.languages import script

# Part of the contract: another preparation gives other tokens.
PREPARATION = "nllb-moses-nfkc-reading-3"

ZERO_WIDTH_NON_JOINER, ZERO_WIDTH_JOINER = "\u200c", "\u200d"

# Format characters that stand within words and mean no space: soft hyphen, word joiner, byte order mark, the marks,
# embeddings and isolates of direction, tags, and the joiner, which NLLB's tokenizer would make a space.
_WITHIN_WORDS = re.compile(
    r"[\u00ad\u061c\u180e\u200d-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0001\U000e0020-\U000e007f]"
)
# In Arabic script the non-joiner parts what a word is made of, and so does the tokenizer.
_NOT_BETWEEN_PARTS = regex.compile(
    r"(?<![\p{L}\p{M}\p{N}])\u200c+|\u200c+(?![\p{L}\p{M}\p{N}\u200c])|(?<=\u200c)\u200c+"
)
# A Malayalam consonant, virama and joiner were one letter before Unicode had it.
_CHILLU = str.maketrans("ണനരലളക", "ൺൻർൽൾൿ")
_SPELLED_CHILLU = re.compile("([ണനരലളക])\u0d4d\u200d")

_UNSPOKEN = regex.compile(r"[^\p{L}\p{M}\p{N}]+")


class PreparedText(NamedTuple):
    """A text as it will be read, and how many runs of digits in it were left alone."""

    text: str
    unread_numbers: int


def prepare_text(text: str, *, language: str) -> PreparedText:
    """Moses punctuation, NFKC, no control or format characters, single spaces; numbers and abbreviations read out.

    The steps up to the reading, and the language `en` for all, are those of fairseq's NLLB preparation (stopes).
    Unlike there, format characters within words vanish, and the zero-width non-joiner of Arabic script stays.
    """
    text = _without_format_characters(text, language=language)
    text = protect_numbers(text, language=language)
    text = unicodedata.normalize("NFKC", _moses(text))
    if not text.isprintable():
        text = "".join(character if _printing(character) else " " for character in text)
    text = " ".join(text.split())
    text = verbalize(text, language=language)
    return PreparedText(text, count_numbers(text))


def spoken_characters(text: str) -> str:
    """A text without what takes no time to say: its letters, digits and the marks on them."""
    return _UNSPOKEN.sub("", text)


def _without_format_characters(text: str, *, language: str) -> str:
    if text.isascii():
        return text
    if ZERO_WIDTH_JOINER in text:
        text = _SPELLED_CHILLU.sub(lambda match: match[1].translate(_CHILLU), text)
    text = _WITHIN_WORDS.sub("", text)
    if ZERO_WIDTH_NON_JOINER not in text:
        return text
    if script(language) != "Arab":
        return text.replace(ZERO_WIDTH_NON_JOINER, "")
    return _NOT_BETWEEN_PARTS.sub("", text)


def _printing(character: str) -> bool:
    return character == ZERO_WIDTH_NON_JOINER or unicodedata.category(character)[0] != "C"


def _moses(text: str) -> str:
    for pattern, replacement in _substitutions():
        text = pattern.sub(replacement, text)
    return text.strip()


@functools.cache
def _substitutions() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Moses' normalize-punctuation.perl as sacremoses keeps it, compiled once."""
    normalizer = sacremoses.MosesPunctNormalizer(lang="en")
    return tuple((re.compile(pattern), replacement) for pattern, replacement in normalizer.substitutions)
