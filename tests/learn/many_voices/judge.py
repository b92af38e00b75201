"""Measurements of the check with many voices: right sentence, voice, language, length and pitch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tests.learn.many_voices.recordings import HeldOut, Task, name_tasks, sentence_tasks
from tests.learn.many_voices.texts import GRAMMARS, texts_of
from tests.learn.many_voices.voice_profiles import median_pitch_hz, nearest_embedding, nearest_voice, voice_profile
from tests.learn.metrics import has_length_of, orderly_moves
from tests.learn.results import Measurement
from trainer.evaluation.cepstra import align_mels
from trainer.speech.griffin_lim import griffin_lim
from trainer.speech.options import SpeechOptions
from trainer.speech.recording import mel_of
from trainer.speech.speaker_encoder import Encoder
from trainer.speech.synthesizer import Synthesizer

RIGHT_SENTENCE, RIGHT_VOICE, RIGHT_LENGTH, ORDERLY = 0.98, 0.80, 0.95, 0.98
MOST_SEMITONES = 1.0
NAMES_PER_VOICE = 2
COPIES = "  of the recordings through Griffin-Lim"


class Sound(NamedTuple):
    """A mel, and the sound that Griffin-Lim makes of it."""

    mel: np.ndarray  # [F, M] ln magnitude
    samples: np.ndarray  # [S] float32
    alignment: np.ndarray  # [N, T]; of a recording [0, 0]


class Way(NamedTuple):
    """A way to tell voices apart."""

    name: str
    describe: Callable[[Sound], np.ndarray]
    nearest: Callable[..., str]

    def finds(self, task: Task, sound: Sound, *, known: dict[str, dict[str, np.ndarray]]) -> bool:
        """True if the nearest voice is the task's; recordings of the task's own text are not compared."""
        recorded = {
            voice: [described for text, described in texts.items() if text != task.text]
            for voice, texts in known.items()
        }
        return self.nearest(self.describe(sound), recorded=recorded) == task.voice


class Judge:
    """Asks a synthesizer for held-out texts in held-out voices, and measures what it says."""

    def __init__(
        self,
        synthesizer: Synthesizer,
        *,
        held_out: HeldOut,
        encoder: Encoder | None,
        references: int = 1,
        options: SpeechOptions = SpeechOptions(),  # noqa: B008 (immutable)
    ):
        """
        Args:
            encoder: a speaker encoder that is not the model's; None: the voice is judged by spectrum and pitch.
            references: clips of a voice that the synthesizer is given.
        """
        self._synthesizer, self._held_out, self._encoder = synthesizer, held_out, encoder
        self._references, self._options = references, options
        self._spec, self._rate_hz = synthesizer.contract.features, synthesizer.rate_hz
        self._recordings: dict[tuple[str, str, str], Sound] = {}

    def measure(self, language: str, *, sentences: int) -> Iterator[Measurement]:
        """Every measurement of a language.

        Args:
            sentences: that each voice speaks.
        """
        voices = self._held_out.voices
        asked = sentence_tasks(voices, language=language, count=sentences, references=self._references)
        spoken, wrong = self._speak(asked), self._speak(asked, other_voice=True)
        recordings = [self._recording(task.text, language=language, voice=task.voice) for task in asked]
        yield from self._of_sentences(asked, spoken=spoken, recordings=recordings)
        yield from self._of_voices(asked, spoken=spoken, wrong=wrong, recordings=recordings)
        yield from self._of_pitch(asked, spoken=spoken, recordings=recordings)
        names = name_tasks(voices, language=language, count=NAMES_PER_VOICE, references=self._references)
        yield from self._of_language(names)

    def _speak(self, tasks: Sequence[Task], *, other_voice: bool = False) -> list[Sound]:
        """Speak each text by its voice's reference, or by that of another voice."""
        sounds = []
        for task in tasks:
            voice = self._other_voice(task.voice) if other_voice else task.voice
            reference = self._held_out.reference(task.reference_texts, language=task.language, voice=voice)
            spoken = self._synthesizer.say(task.text, language=task.language, voice=reference, options=self._options)
            mel = np.concatenate([piece.mel for piece in spoken.pieces])
            sounds.append(Sound(mel, griffin_lim(mel, spec=self._spec), spoken.pieces[0].alignment))
        return sounds

    def _other_voice(self, voice: str) -> str:
        voices = self._held_out.voices
        return voices[(voices.index(voice) + len(voices) // 2) % len(voices)]

    def _recording(self, text: str, *, language: str, voice: str) -> Sound:
        """A recording through Griffin-Lim."""
        known = self._recordings.get((text, language, voice))
        if known is None:
            samples = griffin_lim(self._held_out.mel(text, language=language, voice=voice), spec=self._spec)
            known = Sound(mel_of(samples, spec=self._spec), samples, np.zeros([0, 0]))
            self._recordings[text, language, voice] = known
        return known

    def _of_sentences(
        self, tasks: Sequence[Task], *, spoken: list[Sound], recordings: list[Sound]
    ) -> Iterator[Measurement]:
        language = tasks[0].language
        for name, sounds, bound in (
            ("right sentence of twelve", spoken, RIGHT_SENTENCE),
            (COPIES, recordings, None),
        ):
            right = [
                self._nearest_text(one.mel, task=task) == task.text for task, one in zip(tasks, sounds, strict=True)
            ]
            yield Measurement(language, name, float(np.mean(right)), "" if bound is None else "≥", bound)
        lengths = [has_length_of(len(one.mel), len(other.mel)) for one, other in zip(spoken, recordings, strict=True)]
        yield Measurement(language, "length within 15 %", float(np.mean(lengths)), "≥", RIGHT_LENGTH)
        moves = np.concatenate([orderly_moves(one.alignment) for one in spoken])
        yield Measurement(language, "attention moves 0 to 2 tokens", float(np.mean(moves)), "≥", ORDERLY)

    def _nearest_text(self, mel: np.ndarray, *, task: Task) -> str:
        """The held-out sentence whose recording in the voice is nearest to a mel [F, M]."""
        return min(
            texts_of(task.language).held_out_sentences,
            key=lambda text: self._distance(mel, text=text, language=task.language, voice=task.voice),
        )

    def _distance(self, mel: np.ndarray, *, text: str, language: str, voice: str) -> float:
        """The mel cepstral distance to a recording, aligned, in dB."""
        return align_mels(mel, self._held_out.mel(text, language=language, voice=voice)).distance_db

    def _of_voices(
        self, tasks: Sequence[Task], *, spoken: list[Sound], wrong: list[Sound], recordings: list[Sound]
    ) -> Iterator[Measurement]:
        """How often the voice that was asked for is the nearest of all held-out ones."""
        language, ways = tasks[0].language, [Way("spectrum and pitch", self._profile, nearest_voice)]
        if self._encoder is not None:
            ways.append(Way("resemblyzer", self._embedding, nearest_embedding))
        for way in ways:
            known = self._known_voices(language, way=way)
            share, copied, confused = (
                float(np.mean([way.finds(task, one, known=known) for task, one in zip(tasks, sounds, strict=True)]))
                for sounds in (spoken, recordings, wrong)
            )
            yield Measurement(language, f"right voice of twelve by {way.name}", share, "≥", RIGHT_VOICE)
            yield Measurement(language, COPIES, copied)
            yield Measurement(language, "  asked with another's reference", confused)

    def _known_voices(self, language: str, *, way: Way) -> dict[str, dict[str, np.ndarray]]:
        """A description of the recording of each held-out sentence, by voice and text."""
        return {
            voice: {
                text: way.describe(self._recording(text, language=language, voice=voice))
                for text in texts_of(language).held_out_sentences
            }
            for voice in self._held_out.voices
        }

    def _profile(self, sound: Sound) -> np.ndarray:
        return voice_profile(sound.mel, samples=sound.samples, rate_hz=self._rate_hz)

    def _embedding(self, sound: Sound) -> np.ndarray:
        assert self._encoder is not None
        return self._encoder(sound.samples)

    def _of_pitch(
        self, tasks: Sequence[Task], *, spoken: list[Sound], recordings: list[Sound]
    ) -> Iterator[Measurement]:
        semitones = [
            12.0 * abs(np.log2(self._pitch_hz(one) / self._pitch_hz(other)))
            for one, other in zip(spoken, recordings, strict=True)
        ]
        off = float(np.median(semitones))
        yield Measurement(tasks[0].language, "pitch off, median", off, "≤", MOST_SEMITONES, "semitones")

    def _pitch_hz(self, sound: Sound) -> float:
        return median_pitch_hz(sound.samples, rate_hz=self._rate_hz)

    def _of_language(self, tasks: Sequence[Task]) -> Iterator[Measurement]:
        """How often names are nearest to the recording in the language that was asked for, of all languages."""
        right = [
            min(
                GRAMMARS,
                key=lambda language: self._distance(one.mel, text=task.text, language=language, voice=task.voice),
            )
            == task.language
            for task, one in zip(tasks, self._speak(tasks), strict=True)
        ]
        yield Measurement(tasks[0].language, "right language of four, by names", float(np.mean(right)))
