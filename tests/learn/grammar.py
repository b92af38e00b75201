"""The sentences of the learn check, in which one person or animal acts on another, and their grammar.

sentence = the [adjective] noun verb the [adjective] noun
"""

from __future__ import annotations

import itertools
import random

ADJECTIVES = tuple("angry happy little old young".split())
NOUNS = tuple("captain doctor farmer gentleman lady monkey rabbit sailor teacher tiger".split())
VERBS = tuple("carries follows finds paints remembers watches".split())
WORDS = ("the", *ADJECTIVES, *NOUNS, *VERBS)


def sentences(count: int, *, seed: int = 1) -> list[str]:
    """Distinct random sentences; in each position the words of a class are about equally frequent."""
    chance = random.Random(seed)
    # each class of words is drawn without replacement; repeated sentences are left out
    decks = [_deck(words, chance) for words in (("", *ADJECTIVES), NOUNS, VERBS, ("", *ADJECTIVES), NOUNS)]
    drawn: dict[str, None] = {}
    while len(drawn) < count:
        subject_adjective, subject, verb, object_adjective, other = (next(deck) for deck in decks)
        drawn[f"the {subject_adjective} {subject} {verb} the {object_adjective} {other}".replace("  ", " ")] = None
    return list(drawn)


def _deck(words: tuple[str, ...], chance: random.Random) -> itertools.chain[str]:
    return itertools.chain.from_iterable(chance.sample(words, len(words)) for _ in itertools.count())


def jsgf() -> str:
    """The grammar in Java Speech Grammar Format 1.0."""
    rules = {"adjective": ADJECTIVES, "noun": NOUNS, "verb": VERBS}
    lines = ["#JSGF V1.0;", "grammar learn;"]
    lines += [f"<{name}> = {' | '.join(words)};" for name, words in rules.items()]
    lines += ["<one> = the [<adjective>] <noun>;", "public <sentence> = <one> <verb> <one>;"]
    return "\n".join(lines) + "\n"
