"""`myxtts-speak evaluate`: a run speaks clips of a dataset, and its speech is compared with text and recording.

OUT/clips.jsonl     the measures of each clip, a line as soon as a clip is measured
OUT/summary.json    their means, of all clips, by language and by speaker
OUT/index.html      the same to look at and to listen to: the worst clips, and some others
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from shared.dataset import Contract, Dataset
from shared.errors import UserError
from trainer.evaluation.clip_measures import (
    Embed,
    Sound,
    SoundMeasures,
    TextMeasures,
    compare_sounds,
    stop_failures,
)
from trainer.evaluation.eval_clips import EvalClip, Row, read_mels
from trainer.evaluation.listeners import Listener
from trainer.speech.generation import BATCH_ROWS
from trainer.speech.options import SpeechOptions
from trainer.speech.plausibility import NO_END
from trainer.speech.speaker_encoder import resemblyzer_encoder
from trainer.speech.speech import Speech
from trainer.speech.synthesizer import Synthesizer
from trainer.speech.voice import Voice, mel_differences


class EvaluatedClip(NamedTuple):
    """A clip as it was spoken, beside its recording."""

    clip: EvalClip
    row: Row  # its line in clips.jsonl
    spoken: Sound
    recording: Sound
    alignment: np.ndarray  # [N, T] of the first sentence

    @property
    def badness(self) -> tuple[float, ...]:
        """Larger for worse speech: failures to stop, character errors beyond those of the recording, distance."""
        row = self.row
        excess = (row["character_errors"] or 0) - (row["recording_character_errors"] or 0)
        distance_db = row["mel_cepstral_distance_db"]
        excess_rate = excess / max(1, row["characters"] or 1)
        return len(row["stop_failures"]), excess_rate, math.inf if distance_db is None else distance_db


class SpeechEvaluator:
    """Speaks clips with a synthesizer and measures the speech."""

    def __init__(
        self,
        synthesizer: Synthesizer,
        *,
        dataset: Dataset,
        listener: Listener | None,
        options: SpeechOptions,
        with_pitch: bool = True,
    ):
        """`listener` writes down what is heard; None: words are not compared.

        Raises:
            UserError: the run was trained on mels of another kind than the dataset's.
        """
        self._synthesizer, self._dataset, self._listener = synthesizer, dataset, listener
        self._options, self._with_pitch = options, with_pitch
        self._contract = dataset.info.contract
        self._spec = self._contract.features
        _check_mels(synthesizer, contract=self._contract, data=dataset)
        self._references: dict[str, Sound] = {}
        self._embedders: dict[str, Embed] = {"own": lambda sound: synthesizer.speaker_embedding(sound.mel)}
        if (encoder := resemblyzer_encoder(rate_hz=self._spec.sample_rate_hz)) is not None:
            self._embedders["resemblyzer"] = lambda sound: encoder(sound.samples)

    def speakable(self, clips: Sequence[EvalClip], *, log: Callable[[str], object]) -> list[EvalClip]:
        """The clips that the model can speak: it knows their language, and has a voice for them.

        Raises:
            UserError: there is none.
        """
        known = [clip for clip in clips if clip.language in self._synthesizer.languages]
        if len(known) < len(clips):
            log(f"{len(clips) - len(known)} clips left out: in languages that the model was not trained on")
        voiced = [clip for clip in known if clip.reference or self._synthesizer.speaks_without_voice]
        if len(voiced) < len(known):
            log(f"{len(known) - len(voiced)} clips left out: their speakers have no other clip, whose voice to take")
        if not voiced:
            raise UserError(f"{self._dataset.layout.root}: no clip that the model can speak")
        return voiced

    def evaluate(self, clips: Sequence[EvalClip], *, log: Callable[[str], object]) -> Iterator[EvaluatedClip]:
        """Speak and measure clips, sixteen of a language and a voice at a time.

        The first batch has no real-time factor: its time is that of compilation.

        Raises:
            UserError: a text cannot be spoken, or a record is damaged.
        """
        is_first = True
        for _, group in itertools.groupby(sorted(clips, key=_group_of), key=_group_of):
            alike = list(group)
            reference = self._reference(alike[0])
            for chunk in (alike[first : first + BATCH_ROWS] for first in range(0, len(alike), BATCH_ROWS)):
                started_s = time.monotonic()
                speeches = self._speak(chunk, reference=reference, log=log)
                taken_s = time.monotonic() - started_s
                seconds = None if is_first else taken_s / sum(speech.duration_s for speech in speeches)
                is_first = False
                recordings = map(self._copy, read_mels(self._dataset, [clip.row for clip in chunk]))
                for clip, speech, recording in zip(chunk, speeches, recordings, strict=True):
                    yield self._measure(clip, speech, recording=recording, reference=reference, seconds=seconds)

    def _reference(self, clip: EvalClip) -> Sound | None:
        """The clip in whose voice another one is spoken."""
        row = clip.reference
        if row is None:
            return None
        name = row["utterance_id"]
        if name not in self._references:
            (mel,) = read_mels(self._dataset, [row])
            self._references = {name: self._copy(mel)}  # the next clips have the same one, or never again
        return self._references[name]

    def _speak(
        self, clips: Sequence[EvalClip], *, reference: Sound | None, log: Callable[[str], object]
    ) -> list[Speech]:
        voice = None if reference is None else Voice(clips[0].speaker, (reference.mel,), self._contract)
        prepare = self._synthesizer.front_end.prepare
        requests = [prepare(one.text, language=one.language, is_normalized=True) for one in clips]
        options = self._options if voice else self._options._replace(guidance=1.0)
        return list(self._synthesizer.speak_batch(requests, voice=voice, options=options, log=log))

    def _copy(self, mel: np.ndarray) -> Sound:
        """A recording through the vocoder that the speech passes through."""
        return Sound(mel, self._synthesizer.vocode(mel, seed=self._options.seed))

    def _measure(
        self, clip: EvalClip, speech: Speech, *, recording: Sound, reference: Sound | None, seconds: float | None
    ) -> EvaluatedClip:
        spoken = joined_sound(speech, hop_samples=self._spec.hop_samples, silence=self._spec.log_silence)
        row = self.measure(clip, spoken, recording=recording, reference=reference)
        problems = [problem for piece in speech.pieces for problem in piece.problems]
        row["stop_failures"] = stop_failures(
            duration_ratio=row["duration_ratio"] * self._options.speed, has_ended=NO_END not in problems
        )
        row |= {"problems": problems, "real_time_factor": seconds}
        return EvaluatedClip(clip, row, spoken, recording, speech.pieces[0].alignment)

    def measure(self, clip: EvalClip, spoken: Sound, *, recording: Sound, reference: Sound | None) -> Row:
        """Compare speech with the text and the recording of a clip, and the recording with another of its speaker."""
        text, copy = (self._hear(clip, sound) for sound in (spoken, recording))
        sounds = compare_sounds(
            spoken,
            recording,
            rate_hz=self._spec.sample_rate_hz,
            hop_samples=self._spec.hop_samples,
            embedders=self._embedders,
            with_pitch=self._with_pitch,
        )
        row: Row = {
            "utterance_id": clip.utterance_id,
            "language": clip.language,
            "speaker": clip.speaker,
            "text": clip.text,
            "duration_s": len(spoken.samples) / self._spec.sample_rate_hz,
            **_text_fields(text, copy),
            **_sound_fields(sounds),
        }
        for name, embed in self._embedders.items():
            if reference is None:
                row[f"speaker_similarity_{name}"] = None  # the model chose a voice
            another = None if reference is None else float(embed(reference) @ embed(recording))
            row[f"recording_similarity_{name}"] = another
        return row

    def _hear(self, clip: EvalClip, sound: Sound) -> TextMeasures | None:
        """What the listener hears; None if there is none for the language."""
        if self._listener is None or not self._listener.hears(clip.language):
            return None
        rate_hz = self._spec.sample_rate_hz
        heard = self._listener.transcribe(sound.samples, rate_hz=rate_hz, language=clip.language)
        words = self._synthesizer.front_end.prepare_heard(heard, language=clip.language)
        return TextMeasures.of(words, said=clip.text)


def _group_of(clip: EvalClip) -> tuple[str, str]:
    """The language and the voice of a clip; clips of the same ones are spoken in common batches."""
    return clip.language, clip.reference["utterance_id"] if clip.reference else ""


def _check_mels(synthesizer: Synthesizer, *, contract: Contract, data: Dataset) -> None:
    if fields := mel_differences(contract, trained=synthesizer.contract):
        raise UserError(
            f"{data.layout.root}: other mels than {synthesizer.run} was trained on: {'; '.join(fields)}; evaluate on "
            "the run's own dataset, or build this one with the run's values"
        )


def joined_sound(speech: Speech, *, hop_samples: int, silence: float) -> Sound:
    """The sentences of a text with the pauses between them, as one mel and one waveform."""
    *before, last = speech.pieces
    mels, samples = [], []
    for piece in before:
        pause_frames = round(piece.pause_s * speech.rate_hz / hop_samples)
        mels += [piece.mel, np.full([pause_frames, piece.mel.shape[1]], silence, np.float32)]
        samples += [piece.samples, np.zeros(pause_frames * hop_samples, np.float32)]
    return Sound(np.concatenate([*mels, last.mel]), np.concatenate([*samples, last.samples]))


def _text_fields(spoken: TextMeasures | None, recording: TextMeasures | None) -> Row:
    """The fields about words; null where nobody listened."""
    fields: Row = {}
    for prefix, heard in (("", spoken), ("recording_", recording)):
        fields[f"{prefix}heard"] = heard and heard.heard
        fields[f"{prefix}word_errors"] = heard and heard.errors.word_errors
        fields[f"{prefix}character_errors"] = heard and heard.errors.character_errors
    fields["words"] = spoken and spoken.errors.words
    fields["characters"] = spoken and spoken.errors.characters
    return fields


def _sound_fields(measures: SoundMeasures) -> Row:
    """The fields about sound; null where a measure has no value."""
    fields = measures._asdict()
    similarities = fields.pop("speaker_similarities")
    values = {**fields, **{f"speaker_similarity_{name}": value for name, value in similarities.items()}}
    return {name: value if math.isfinite(value) else None for name, value in values.items()}
