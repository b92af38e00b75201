"""Text preparation: NLLB-200's own normalisation, then numbers and abbreviations in words.

Without the normalisation, curly quotes, dashes and « » become <unk>. Without the words, the model would have to learn
how to read 7.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from typing import NamedTuple

import regex

from preprocess.text_normalizer import TextNormalizer
from preprocess.verbalization.readings import Reading
from preprocess.verbalization.verbalize import count_numbers, protect_numbers, verbalize
from shared.languages import script

# Part of the contract: a different preparation gives different tokens.
PREPARATION = "nllb-moses-nfkc-reading-6"

ZERO_WIDTH_NON_JOINER, ZERO_WIDTH_JOINER = "\u200c", "\u200d"

# Format characters within words that do not mean a space: soft hyphen, word joiner, byte order mark, the marks,
# embeddings and isolates of direction, tags, and the joiner, which NLLB's tokenizer would turn into a space.
_WITHIN_WORDS = re.compile(
    r"[\u00ad\u061c\u180e\u200d-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0001\U000e0020-\U000e007f]"
)
# In Arabic script the non-joiner separates the parts of a word; the tokenizer keeps it.
_NOT_BETWEEN_PARTS = regex.compile(
    r"(?<![\p{L}\p{M}\p{N}])\u200c+|\u200c+(?![\p{L}\p{M}\p{N}\u200c])|(?<=\u200c)\u200c+"
)
# A Malayalam consonant, virama and joiner were one letter before Unicode had it.
_CHILLU = str.maketrans("ണനരലളക", "ൺൻർൽൾൿ")
_SPELLED_CHILLU = re.compile("([ണനരലളക])\u0d4d\u200d")

_UNSPOKEN = regex.compile(r"[^\p{L}\p{M}\p{N}]+")


class PreparedText(NamedTuple):
    """A prepared text, and the number of runs of digits in it that were not written in words."""

    text: str
    unread_numbers: int


def prepare_text(
    text: str, *, language: str, normalizer: TextNormalizer | None = None, readings: list[Reading] | None = None
) -> PreparedText:
    """Prepare a text: Moses punctuation, NFKC, no control or format characters, single spaces, numbers in words.

    All steps before the numbers, with Moses' language `en` for every text, are those of fairseq's NLLB preparation
    (stopes). Unlike there, format characters within words are removed, and the zero-width non-joiner of Arabic script
    is kept.

    Args:
        normalizer: the user's own, which gets the text first.
        readings: takes what was written in words.

    Raises:
        UserError: the normalizer fails.
    """
    if normalizer is not None:
        text = normalizer(text, language=language)
    text = _without_format_characters(text, language=language)
    text = protect_numbers(text, language=language)
    text = unicodedata.normalize("NFKC", _moses(text))
    if not text.isprintable():
        text = "".join(character if _printing(character) else " " for character in text)
    text = " ".join(text.split())
    text = verbalize(text, language=language, readings=readings)
    return PreparedText(text, count_numbers(text))


def spoken_characters(text: str) -> str:
    """The characters of a text that are spoken: letters, digits and the marks on them."""
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
    """Moses' normalize-punctuation.perl as in sacremoses, compiled once."""
    import sacremoses  # it compiles the tables of its tokenizers, a quarter of a second that not every command needs

    normalizer = sacremoses.MosesPunctNormalizer(lang="en")
    return tuple((re.compile(pattern), replacement) for pattern, replacement in normalizer.substitutions)
