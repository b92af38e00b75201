"""Sentences that were spoken wrongly in one way each are found by the check for it; a right one has no problem."""

from __future__ import annotations

import numpy as np
import pytest

from trainer.data.speech_pace import SpeechPace
from trainer.speech.generation import MelPart
from trainer.speech.plausibility import find_problems
from trainer.speech.silence import longest_pause, silent_frames, spoken_length

FRAMES_PER_SECOND, R, TOKENS, STEPS_PER_TOKEN = 86.0, 4, 12, 3
PACE = SpeechPace(min_frames_per_token=6.0, max_frames_per_token=24.0)
SILENCE, SPEECH = -11.5, -2.0


def mel_of(*runs: tuple[int, float]) -> np.ndarray:
    """Runs of (frames, level)."""
    return np.concatenate([np.full([frames, 80], level, np.float32) for frames, level in runs])


def spoken(
    path: list[int] | None = None, *, frames: int | None = None, has_ended: bool = True, mel: np.ndarray | None = None
) -> MelPart:
    positions = list(np.repeat(np.arange(TOKENS), STEPS_PER_TOKEN)) if path is None else path
    alignment = np.eye(TOKENS, dtype=np.float32)[positions]
    sound = mel_of((len(positions) * R if frames is None else frames, SPEECH)) if mel is None else mel
    return MelPart(sound, alignment, has_ended)


def problems(one: MelPart) -> list[str]:
    return list(find_problems(one, pace=PACE, frames_per_second=FRAMES_PER_SECOND))


def test_a_plausible_sentence_has_no_problem() -> None:
    assert problems(spoken()) == []


GOOD = list(np.repeat(np.arange(TOKENS), STEPS_PER_TOKEN))


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (spoken(has_ended=False), ["no end was predicted"]),
        (spoken(frames=70), ["faster than any speech of training"]),
        (spoken(frames=290), ["slower than any speech of training"]),
        (spoken(GOOD[:15] + GOOD[27:]), ["a part of the text was left out"]),
        (spoken(GOOD[15:] + [11] * 9), ["a part of the text was left out"]),
        (spoken(GOOD[:27] + [8] * 9), ["the end of the text was left out"]),
        (spoken(GOOD[:24] + GOOD[9:]), ["a part of the text was repeated"]),
        (
            spoken(mel=mel_of((40, SPEECH), (105, SILENCE), (40, SPEECH))),
            ["a pause of more than 1.2 s"],
        ),
        (MelPart(np.zeros([0, 80], np.float32), np.zeros([0, TOKENS], np.float32), True), None),
    ],
    ids=["endless", "short", "long", "skips", "begins late", "cut off", "repeats", "pauses", "nothing"],
)
def test_each_defect_is_named(one: MelPart, expected: list[str] | None) -> None:
    found = problems(one)
    assert found == expected if expected is not None else found


def test_silence_is_far_below_the_loud_part_whatever_the_level() -> None:
    for level in (0.0, -5.0):
        mel = mel_of((20, level), (8, level - 6.0), (30, level - 1.0), (5, level - 7.0))
        assert silent_frames(mel).tolist() == [False] * 20 + [True] * 8 + [False] * 30 + [True] * 5
        assert longest_pause(mel) == 8


def test_the_silent_tail_is_cut_and_nothing_else() -> None:
    mel = mel_of((10, SILENCE), (20, SPEECH), (50, SILENCE))
    assert spoken_length(mel, tail_frames=6) == 36
    assert spoken_length(mel[:32], tail_frames=6) == 32
    assert spoken_length(mel_of((30, SILENCE)), tail_frames=6) == 30
    assert spoken_length(mel[:0], tail_frames=6) == 0
