"""Expands abbreviations that have one meaning only: `Dr.`, `z. B.`, `etc.`."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import regex

from preprocess.verbalization.conventions import CONVENTIONS
from preprocess.verbalization.conventions.convention import Convention
from preprocess.verbalization.readings import Reading

# "Main St. The", "Jean M. Dupont": after a name, a title is a street or an initial.
_AFTER_NAME = regex.compile(r"\p{Lu}\p{L}+ $")
_ENDS_SENTENCE = regex.compile(r"""["')\]]*(?:$| \p{Lu})""")


def expand_abbreviations(text: str, *, language: str, readings: list[Reading]) -> str:
    """Replace the language's unambiguous abbreviations by their words.

    Args:
        readings: takes what was read.
    """
    if language not in CONVENTIONS:
        return text
    expander = _expander(language)

    def read(match: regex.Match[str]) -> str:
        words = expander.replacement(match)
        if words != match[0]:
            readings.append(Reading(match[0], words.strip(), "abbreviation"))
        return words

    return expander.pattern.sub(read, text) if expander.words else text


@functools.cache
def _expander(language: str) -> _Expander:
    return _Expander(CONVENTIONS[language])


class _Expander:
    """Expands the abbreviations of one language."""

    def __init__(self, convention: Convention):
        kinds = (convention.titles, convention.numbered, convention.phrases, convention.closings)
        self.words = {_unspaced(short): words for kind in kinds for short, words in kind.items()}
        self.streets = convention.streets
        closings = convention.closings.values()
        self.closings = frozenset([*closings, *map(_capitalised, closings)])
        self.pattern = _pattern(convention)

    def replacement(self, match: regex.Match[str]) -> str:
        """The words of an abbreviation, or the abbreviation itself if its meaning is not certain."""
        text, start, end = match.string, match.start(), match.end()
        short = _unspaced(match[0])
        if short in self.streets and _AFTER_NAME.search(text[max(0, start - 40) : start]):
            return match[0]
        words = self.words.get(short) or _capitalised(self.words[short[0].lower() + short[1:]])
        if words in self.closings and short.endswith(".") and _ENDS_SENTENCE.match(text, end):
            return f"{words}."
        return f"{words} " if text[end : end + 1].isalnum() else words


def _pattern(convention: Convention) -> regex.Pattern[str]:
    """Titles match before a letter that is not lower case, `numbered` ones before a digit, the others anywhere."""
    dotted = [short for short in convention.titles if short.endswith(".")]
    bare = [short for short in convention.titles if not short.endswith(".")]
    anywhere = [*convention.phrases, *convention.closings]
    # also at the beginning of a sentence
    anywhere += [_capitalised(short) for short in anywhere if short[1:] == short[1:].lower()]
    kinds = (
        (dotted, r"(?= ?(?!\p{Ll})\p{L})"),
        (bare, r"(?= (?!\p{Ll})\p{L})"),
        (convention.numbered, r"(?= ?\d)"),
        (anywhere, r"(?![\p{L}\p{N}])"),
    )
    alternatives = "|".join(f"(?:{_any_of(words)}){context}" for words, context in kinds if words)
    return regex.compile(rf"(?<![\p{{L}}\p{{M}}\p{{N}}.])(?:{alternatives})")


def _any_of(words: Iterable[str]) -> str:
    longest_first = sorted(words, key=len, reverse=True)
    return "|".join(" ?".join(map(regex.escape, word.split(" "))) for word in longest_first)


def _unspaced(short: str) -> str:
    return short.replace(" ", "")


def _capitalised(words: str) -> str:
    return words[:1].upper() + words[1:]
