"""Speaks prompts, and those that were spoken implausibly once more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from trainer.config.speech_bounds import TAIL_SILENCE_S
from trainer.data.speech_pace import SpeechPace
from trainer.speech.generation import Generator, MelPart, Prompt, Sampling
from trainer.speech.plausibility import find_problems
from trainer.speech.silence import spoken_length


class Attempt(NamedTuple):
    """A spoken prompt, without silence at its end, and what is implausible about it."""

    spoken: MelPart
    problems: tuple[str, ...]


class PlausibleSpeaker:
    """Speaks with a generator, and judges each prompt by the pace of its language."""

    def __init__(self, generator: Generator, *, frames_per_second: float):
        self._generator, self._frames_per_second = generator, frames_per_second

    def speak(self, prompts: Sequence[Prompt], *, sampling: Sampling, pace: SpeechPace) -> list[Attempt]:
        """Speak prompts; of an implausible one and another attempt with the next seed, the more plausible counts."""
        attempts = self._attempts(prompts, sampling=sampling, pace=pace)
        failed = [row for row, one in enumerate(attempts) if one.problems]
        if failed:
            other = sampling._replace(seed=sampling.seed + 1)
            seconds = self._attempts([prompts[row] for row in failed], sampling=other, pace=pace)
            for row, second in zip(failed, seconds, strict=True):
                attempts[row] = min(attempts[row], second, key=lambda one: len(one.problems))
        return attempts

    def _attempts(self, prompts: Sequence[Prompt], *, sampling: Sampling, pace: SpeechPace) -> list[Attempt]:
        spoken = map(self._without_tail, self._generator.speak(prompts, sampling=sampling))
        return [
            Attempt(one, tuple(find_problems(one, pace=pace, frames_per_second=self._frames_per_second)))
            for one in spoken
        ]

    def _without_tail(self, spoken: MelPart) -> MelPart:
        frames = spoken_length(spoken.mel, tail_frames=round(TAIL_SILENCE_S * self._frames_per_second))
        return spoken._replace(mel=spoken.mel[:frames])
