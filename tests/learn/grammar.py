"""The texts of the learn check: sentences in which one person or animal acts on another, shorter phrases; the grammar.

sentence = the [adjective] noun verb the [adjective] noun
phrase = [the] [adjective] noun, or noun verb the noun
"""

from __future__ import annotations

import itertools
import random

ADJECTIVES = tuple("angry happy little old young".split())
NOUNS = tuple("captain doctor farmer gentleman lady monkey rabbit sailor teacher tiger".split())
VERBS = tuple("carries follows finds paints remembers watches".split())
WORDS = ("the", *ADJECTIVES, *NOUNS, *VERBS)
PHRASE_SHARE = 0.3  # phrases beside each sentence: speech has short texts too, and a model must learn to end them


def texts(sentence_count: int) -> list[str]:
    """Sentences, and behind them distinct phrases of 1 to 4 words."""
    return sentences(sentence_count) + phrases(int(PHRASE_SHARE * sentence_count))


def phrases(count: int, *, seed: int = 1) -> list[str]:
    """Distinct random phrases, of 1, 2, 3, 4, 1, … words as long as there are any of a length."""
    chance = random.Random(seed)
    by_length: dict[int, list[str]] = {1: list(NOUNS), 2: [f"the {noun}" for noun in NOUNS], 3: [], 4: []}
    by_length[2] += [f"{adjective} {noun}" for adjective in ADJECTIVES for noun in NOUNS]
    by_length[3] += [f"the {adjective} {noun}" for adjective in ADJECTIVES for noun in NOUNS]
    by_length[4] += [f"{noun} {verb} the {other}" for noun in NOUNS for verb in VERBS for other in NOUNS]
    decks = [chance.sample(found, len(found)) for found in by_length.values()]
    rows = itertools.zip_longest(*decks)
    return [text for row in rows for text in row if text is not None][:count]


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
    lines += ["<one> = the [<adjective>] <noun>;", "<sentence> = <one> <verb> <one>;"]
    lines += ["<phrase> = [the] [<adjective>] <noun> | <noun> <verb> the <noun>;"]
    lines += ["public <text> = <sentence> | <phrase>;"]
    return "\n".join(lines) + "\n"


def any_words_jsgf() -> str:
    """The grammar of any row of the words."""
    return f"#JSGF V1.0;\ngrammar learn;\npublic <text> = ({' | '.join(WORDS)})+;\n"
