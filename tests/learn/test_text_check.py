"""The check of texts of many lengths: its texts, and what it calls a failure."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from shared.errors import UserError
from shared.features import preset
from tests.learn.corpus import SENTENCES
from tests.learn.grammar import WORDS, jsgf
from tests.learn.grammar import texts as corpus_texts
from tests.learn.test_grammar import as_pattern
from tests.learn.text_check import (
    Listener,
    Spoken,
    failures_of,
    judge_sentences,
    rates,
    short_texts,
    texts_of_sentences,
    with_word_twice,
    words_heard_twice,
    words_of,
)
from trainer.speech.speech import SpokenPiece

SPEC = preset("hifigan-22k")
SAID = "the old doctor follows the lady".split()


def test_texts_have_1_to_12_words_equally_often_and_are_none_of_training() -> None:
    texts = short_texts(300, seed=1)
    assert [len(words_of(text)) for text in texts] == [1 + number % 12 for number in range(300)]
    assert {word for text in texts for word in words_of(text)} <= set(WORDS)
    known, parts = set(corpus_texts(SENTENCES)), {part for text in texts for part in text.split(". ")}
    assert not known & {part for part in parts if " " in part}
    patterns = [as_pattern(jsgf(), rule=rule) for rule in ("sentence", "phrase")]
    assert all(any(pattern.fullmatch(part) for pattern in patterns) for part in parts)
    assert not known & {one for text in texts_of_sentences(100, seed=2) for one in text.rstrip(".").split(". ")}


@pytest.mark.parametrize(
    ("frames", "tail_s", "heard", "expected"),
    [
        (200, 0.0, SAID, []),
        (130, 0.0, SAID, ["early"]),
        (290, 0.0, SAID, ["late"]),
        (200, 0.0, SAID[:5], ["last word"]),
        (200, 0.0, ["the", *SAID[2:]], []),  # a word error, and no failure to stop
        (200, 0.6, SAID, ["silent tail"]),
        (200, 0.4, SAID, []),
    ],
)
def test_each_failure_is_seen(frames: int, tail_s: float, heard: list[str], expected: list[str]) -> None:
    listener, rate_hz = SimpleNamespace(_spec=SPEC), SPEC.sample_rate_hz
    end = np.concatenate([np.ones(rate_hz), np.full(int(tail_s * rate_hz), 1e-3)])
    found = Listener._end_failures(listener, frames, end=end, heard=heard, said=SAID, recorded_frames=200)
    assert list(found) == expected


def test_a_word_is_written_twice_at_each_of_its_places() -> None:
    assert with_word_twice("the lady. the doctor", word="the") == "the the lady. the doctor"
    assert with_word_twice("the lady. the doctor", word="the", occurrence=1) == "the lady. the the doctor"
    assert with_word_twice("the lady. the doctor", word="lady") == "the lady lady. the doctor"
    assert with_word_twice("the lady. the doctor", word="lady", occurrence=1) is None


def test_the_place_of_a_word_that_is_heard_twice() -> None:
    assert list(words_heard_twice("the lady lady the the the doctor".split())) == [("lady", 0), ("the", 1)]
    assert list(words_heard_twice("the lady the doctor".split())) == []


@pytest.mark.parametrize(
    ("spoken", "heard", "expected"),
    [
        ("the old doctor follows the lady", "the old doctor follows the lady", False),
        ("the old doctor doctor follows the lady", "the old doctor doctor follows the lady", True),
        ("the old doctor follows the the lady", "the old doctor follows the the lady", True),
        ("the old doctor follows the lady", "the old doctor follows the the lady", False),  # misheard
        ("the the old doctor follows the lady", "the old doctor follows the the lady", False),  # heard elsewhere
        ("the old old doctor follows the lady", "the old doctor follows the lady", False),  # not heard
        ("the old doctor follows the lady", "the old doctor follows lady lady", False),  # other words are word errors
    ],
)
def test_a_word_is_spoken_twice_where_it_is_heard_so_and_the_recording_with_it_twice_is_nearer(
    spoken: str, heard: str, expected: bool
) -> None:
    rng = np.random.default_rng(1)
    sounds = {word: rng.normal(-4.0, 2.0, [20, SPEC.n_mels]).astype(np.float32) for word in WORDS}

    def recording(text: str) -> np.ndarray:
        return np.concatenate([sounds[word] for word in words_of(text)])

    mel = recording(spoken) + rng.normal(0.0, 0.5, recording(spoken).shape).astype(np.float32)
    listener, text = SimpleNamespace(recording=recording), " ".join(SAID)
    answer = Listener.has_word_twice(listener, mel, text=text, heard=heard.split(), recording=recording(text))
    assert answer == expected


def test_rates_are_of_all_words_and_count_what_the_synthesizer_reports() -> None:
    found = rates(
        [
            Spoken("the lady", ["the", "lady"], 0, [], []),
            Spoken("old lady", ["the", "lady"], 1, ["late", "repeated"], ["no end was predicted"]),
            Spoken("lady", ["lady"], 0, ["late"], []),
        ]
    )
    assert found.word_errors == pytest.approx(1 / 5)
    assert found.failures == {"late": 2, "repeated": 1}
    assert (found.sentences, found.failed, found.reported, found.reported_failures) == (3, 2, 1, 1)


def spoken_piece(text: str) -> SpokenPiece:
    nothing = np.zeros(0, np.float32)
    return SpokenPiece(text, nothing, nothing, nothing, nothing, 0.0)


def test_each_sentence_of_a_text_is_compared_with_a_recording_of_its_own() -> None:
    judged: list[tuple[str, str, str]] = []
    listener = SimpleNamespace(
        recording=lambda text: f"recording of {text}",
        judge=lambda pieces, text, recording: judged.append(([one.text for one in pieces], text, recording)),
    )
    pieces = [spoken_piece(text) for text in ("the lady", "finds the doctor.", "the doctor.")]
    list(judge_sentences(pieces, text="the lady finds the doctor. the doctor.", listener=listener))
    assert judged == [
        (["the lady", "finds the doctor."], "the lady finds the doctor", "recording of the lady finds the doctor"),
        (["the doctor."], "the doctor", "recording of the doctor"),
    ]
    with pytest.raises(UserError, match="expected its sentences"):
        list(judge_sentences(pieces[:2], text="the lady finds the doctor. the doctor.", listener=listener))


def test_failures_are_counted_in_texts_of_one_and_of_several_sentences() -> None:
    groups = {"one sentence": {"failed": 1, "sentences": 300}, "several sentences": {"failed": 2, "sentences": 400}}
    assert failures_of(groups) == (3, 700)
