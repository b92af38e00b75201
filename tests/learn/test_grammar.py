"""The sentences and their grammar agree, in both directions, and the listener knows every word."""

from __future__ import annotations

import itertools
import re
from collections import Counter

from pocketsphinx import Decoder

from tests.learn.grammar import ADJECTIVES, NOUNS, VERBS, WORDS, jsgf, phrases, sentences, texts


def as_pattern(grammar: str, *, rule: str = "sentence") -> re.Pattern[str]:
    """The language of a rule of a JSGF grammar without recursion, as a regular expression."""
    rules = dict(re.findall(r"<(\w+)> = (.*);", grammar.replace(" | ", "|")))

    def expand(text: str) -> str:
        text = re.sub(r"<(\w+)>", lambda found: f"(?:{expand(rules[found[1]])})", text)
        return re.sub(r"\[(.*?)\]\s*", r"(?:\1 )?", text)

    return re.compile(expand(rules[rule]))


def test_every_sentence_follows_the_grammar_and_none_of_its_words_can_be_left_out() -> None:
    pattern = as_pattern(jsgf())
    for sentence in sentences(300):
        words = sentence.split()
        assert pattern.fullmatch(sentence), sentence
        for place, word in enumerate(words):
            rest = " ".join([*words[:place], *words[place + 1 :]])
            assert bool(pattern.fullmatch(rest)) == (word in ADJECTIVES), rest


def test_the_grammar_holds_all_there_is_to_say_and_no_more() -> None:
    pattern = as_pattern(jsgf())
    ones = [" ".join(words) for words in itertools.product(("the",), (*ADJECTIVES, ""), NOUNS)]
    ones = [one.replace("  ", " ") for one in ones]
    said = [f"{subject} {verb} {other}" for subject in ones[::7] for verb in VERBS for other in ones[::5]]
    assert all(map(pattern.fullmatch, said))
    assert not any(map(pattern.fullmatch, [*ones, *(f"{one} {one}" for one in ones), *WORDS]))


def test_sentences_are_distinct_the_same_each_time_and_use_all_words_alike() -> None:
    drawn = sentences(400)
    assert len(set(drawn)) == 400
    assert drawn == sentences(400)
    assert drawn[:100] == sentences(100)
    counts = Counter(word for sentence in drawn for word in sentence.split())
    assert counts.keys() == set(WORDS)
    for words, expected in ((NOUNS, 80), (VERBS, 400 / 6), (ADJECTIVES, 800 / 6)):
        assert all(abs(counts[word] - expected) <= 2 for word in words), counts


def test_phrases_are_distinct_follow_the_grammar_and_have_1_to_4_words_equally_often() -> None:
    drawn, pattern = phrases(120), as_pattern(jsgf(), rule="phrase")
    assert len(set(drawn)) == 120
    assert drawn == phrases(120)
    assert all(map(pattern.fullmatch, drawn))
    assert Counter(len(one.split()) for one in drawn) == {1: len(NOUNS), 2: 37, 3: 37, 4: 36}  # there are 10 nouns
    assert texts(100) == [*sentences(100), *phrases(30)]


def test_the_listener_knows_every_word() -> None:
    decoder = Decoder(loglevel="FATAL")
    assert [word for word in WORDS if decoder.lookup_word(word) is None] == []
