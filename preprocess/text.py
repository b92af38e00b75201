"""Text preparation as NLLB-200 was trained with: without it curly quotes, dashes and « » become <unk>."""

from __future__ import annotations

import functools
import re
import unicodedata

import sacremoses

# Part of the contract: another preparation gives other tokens.
PREPARATION = "nllb-moses-nfkc-1"

ZERO_WIDTH_NON_JOINER, ZERO_WIDTH_JOINER = "\u200c", "\u200d"


def prepare_text(text: str) -> str:
    """Moses punctuation, NFKC, no control or format characters, single spaces.

    The steps and the language `en` for all are those of fairseq's NLLB preparation (stopes). Unlike there,
    the zero-width joiners stay: Persian and Indic words are spelled with them.
    """
    text = unicodedata.normalize("NFKC", _moses(text))
    text = "".join(character if _printing(character) else " " for character in text)
    return " ".join(text.split())


def _printing(character: str) -> bool:
    return character in (ZERO_WIDTH_NON_JOINER, ZERO_WIDTH_JOINER) or unicodedata.category(character)[0] != "C"


def _moses(text: str) -> str:
    for pattern, replacement in _substitutions():
        text = pattern.sub(replacement, text)
    return text.strip()


@functools.cache
def _substitutions() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Moses' normalize-punctuation.perl as sacremoses keeps it, compiled once."""
    normalizer = sacremoses.MosesPunctNormalizer(lang="en")
    return tuple((re.compile(pattern), replacement) for pattern, replacement in normalizer.substitutions)
