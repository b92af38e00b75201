"""The texts of the check with many voices."""

from __future__ import annotations

import random

import pytest

from tests.learn.many_voices.texts import GRAMMARS, SHARED_NAMES, texts_of


@pytest.mark.parametrize("language", GRAMMARS)
def test_no_voice_of_training_says_a_held_out_text(language: str) -> None:
    texts = texts_of(language)
    held_out = {*texts.held_out_sentences, *texts.held_out_names}
    assert len(held_out) == 18
    assert not held_out & {*texts.sentences, *texts.phrases, *texts.names}
    said = texts.drawn(random.Random(5))
    assert len(set(said)) == 12
    assert set(said) <= {*texts.sentences, *texts.phrases, *texts.names}


def test_the_held_out_names_are_the_same_in_every_language_and_the_sentences_are_not() -> None:
    every = [texts_of(language) for language in GRAMMARS]
    assert all(texts.held_out_names == every[0].held_out_names for texts in every)
    assert {name for text in every[0].held_out_names for name in text.split()} <= set(SHARED_NAMES)
    assert len({text for texts in every for text in texts.held_out_sentences}) == 48
