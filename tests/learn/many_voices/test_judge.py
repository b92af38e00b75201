"""The judge of the check with many voices sees each defect by the measure that is meant for it."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from shared.features import preset
from tests.learn.many_voices import judge
from tests.learn.many_voices.judge import COPIES, Judge
from tests.learn.many_voices.recordings import sentence_tasks
from tests.learn.many_voices.texts import texts_of
from tests.learn.many_voices.voice_profiles import median_pitch_hz, nearest_embedding, nearest_voice
from tests.learn.results import Measurement
from trainer.speech.griffin_lim import griffin_lim
from trainer.speech.options import SpeechOptions
from trainer.speech.recording import mel_of

SPEC = preset("hifigan-22k")
RATE_HZ, VOWELS, VOWEL_SAMPLES = SPEC.sample_rate_hz, 6, 2_048
PITCHES_HZ = {"deep": 90.0, "high": 210.0, "middle": 140.0}
LANGUAGE = "eng_Latn"

Said = Callable[[str, str, str], np.ndarray]  # text, language, voice: the mel [F, M]


@functools.cache
def spoken(text: str, language: str, voice: str, raised: float = 1.0) -> np.ndarray:
    """The samples of vowels that depend on text and language; the voice gives the pitch, and how high formants are."""
    chance, pitch_hz = random.Random(f"{text} {language}"), raised * PITCHES_HZ[voice]
    times, harmonics = np.arange(VOWELS * VOWEL_SAMPLES) / RATE_HZ, np.arange(1, int(5_000 / pitch_hz))
    envelopes = []
    for _ in range(VOWELS):
        formants_hz = np.array([chance.uniform(250, 900), chance.uniform(1_000, 2_600)]) * (1 + pitch_hz / 700)
        distances = np.abs(harmonics[:, None] * pitch_hz - formants_hz) / 150
        envelopes.append((1 / (1 + distances**2)).sum(1))
    waves = np.sin(2 * np.pi * pitch_hz * harmonics[:, None] * times)
    return (0.1 * (np.repeat(np.array(envelopes).T, VOWEL_SAMPLES, axis=1) * waves).sum(0)).astype(np.float32)


@pytest.fixture(autouse=True)
def fast_griffin_lim(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vowels that do not change need few iterations."""
    monkeypatch.setattr(judge, "griffin_lim", functools.partial(griffin_lim, iterations=3))


@functools.cache
def mel(text: str, language: str, voice: str) -> np.ndarray:
    return mel_of(spoken(text, language, voice), spec=SPEC)


class Recordings:
    """Held-out recordings of the three voices."""

    voices = sorted(PITCHES_HZ)

    def mel(self, text: str, *, language: str, voice: str) -> np.ndarray:
        return mel(text, language, voice)

    def reference(self, texts: list[str], *, language: str, voice: str) -> Any:
        return SimpleNamespace(name=voice)


def measured(say: Said, *, moves: int = 1) -> dict[str, Measurement]:
    """The measurements of a synthesizer that says what `say` says, its attention moving on by `moves` tokens a step."""

    def answer(text: str, *, language: str, voice: Any, options: SpeechOptions) -> Any:
        alignment = np.eye(8)[np.arange(0, 8, moves)]
        return SimpleNamespace(pieces=[SimpleNamespace(mel=say(text, language, voice.name), alignment=alignment)])

    synthesizer: Any = SimpleNamespace(contract=SimpleNamespace(features=SPEC), rate_hz=RATE_HZ, say=answer)
    recordings: Any = Recordings()
    lines = list(Judge(synthesizer, held_out=recordings, encoder=None).measure(LANGUAGE, sentences=2))
    return {line.measure: line for line in reversed(lines)}  # of lines with one name, the first


def missed(lines: dict[str, Measurement]) -> set[str]:
    return {line.measure for line in lines.values() if line.verdict == "missed"}


SENTENCE, VOICE = "right sentence of twelve", "right voice of twelve by spectrum and pitch"
LENGTH, MOVES, PITCH = "length within 15 %", "attention moves 0 to 2 tokens", "pitch off, median"
NAMES = "right language of four, by names"


@pytest.mark.slow
def test_the_recordings_themselves_meet_every_bound_and_another_reference_gives_another_voice() -> None:
    lines = measured(mel)
    assert missed(lines) == set()
    assert {name: lines[name].got for name in (SENTENCE, COPIES, VOICE, LENGTH, MOVES, PITCH, NAMES)} == {
        SENTENCE: 1.0,
        COPIES: 1.0,
        VOICE: 1.0,
        LENGTH: 1.0,
        MOVES: 1.0,
        PITCH: 0.0,
        NAMES: 1.0,
    }
    assert lines["  asked with another's reference"].got == 0.0


def raised_by_three_semitones(text: str, language: str, voice: str) -> np.ndarray:
    return mel_of(spoken(text, language, voice, 2 ** (3 / 12)), spec=SPEC)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("say", "seen_by"),
    [
        (lambda text, language, _: mel(text, language, "deep"), {VOICE, PITCH}),
        (lambda _, language, voice: mel(texts_of(LANGUAGE).held_out_sentences[0], language, voice), {SENTENCE}),
        (lambda *asked: np.repeat(mel(*asked), 2, axis=0)[: int(1.2 * len(mel(*asked)))], {LENGTH}),
        (raised_by_three_semitones, {PITCH}),
    ],
    ids=["always one voice", "always one sentence", "a fifth longer", "three semitones higher"],
)
def test_a_defect_is_seen(say: Said, seen_by: set[str]) -> None:
    assert seen_by <= missed(measured(say))


@pytest.mark.slow
def test_another_language_and_attention_that_skips_are_seen() -> None:
    lines = measured(lambda text, language, voice: mel(text, "deu_Latn", voice), moves=3)
    assert lines[NAMES].got == 0.0
    assert MOVES in missed(lines)


def test_over_all_voices_each_sentence_is_asked_equally_often_and_never_with_its_own_recording() -> None:
    voices = [f"voice {number}" for number in range(12)]
    tasks = sentence_tasks(voices, language=LANGUAGE, count=4, references=3)
    sentences = texts_of(LANGUAGE).held_out_sentences
    assert sorted(task.text for task in tasks) == sorted(4 * sentences)
    assert all(len({task.text, *task.reference_texts} & {*sentences}) == 4 for task in tasks)


def test_the_pitch_of_a_signal_is_found_where_it_is_loud() -> None:
    quiet = np.random.default_rng(1).normal(0, 1e-4, RATE_HZ).astype(np.float32)
    signal = np.concatenate([quiet, spoken("a", LANGUAGE, "middle")])
    assert median_pitch_hz(signal, rate_hz=RATE_HZ) == pytest.approx(140.0, rel=0.01)


def test_a_profile_is_compared_in_units_of_its_spread_within_voices() -> None:
    # the first element varies within voices and the second does not
    recorded = {
        "one": [np.array([0.0, 0.0]), np.array([10.0, 0.1])],
        "other": [np.array([8.0, 1.0]), np.array([18.0, 1.1])],
    }
    assert nearest_voice(np.array([13.0, 0.1]), recorded=recorded) == "one"


def test_an_embedding_is_compared_by_its_direction() -> None:
    recorded = {"one": [np.array([1.0, 0.1])], "other": [np.array([9.0, 9.0])]}
    assert nearest_embedding(np.array([5.0, 0.0]), recorded=recorded) == "one"
