"""All measurements of the learn check for one checkpoint."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shared.dataset import Dataset
from shared.errors import UserError
from tests.learn.asr_metrics import AsrMetrics, MelTranscriber
from tests.learn.clips import Clip, read_clips
from tests.learn.metrics import has_length_of, orderly_moves
from tests.learn.results import Measurement
from tests.learn.synthesis import Prompt, RunSynthesizer, SynthesizedClip
from tests.learn.voice_classifier import VoiceClassifier, nearest_by_pitch
from trainer.evaluation.dtw import dtw_distance_db

ORDERLY, RIGHT_LENGTH, OF_UNTRAINED, RIGHT_VOICE = 0.98, 0.95, 0.5, 0.95
WORD_ERRORS = {"training": 0.02, "unseen": 0.20}
NO_REFERENCE = "unseen, no voice asked for"


def measure_run(
    run: Path, *, dataset: Dataset, step: int | None, trained_clips: int, vocoder: Path | None = None
) -> tuple[int, list[Measurement]]:
    """The step of the checkpoint, and every measurement; words and pitch are heard through the vocoder.

    Raises:
        UserError: the run has no such checkpoint, or the data are not those of the learn check.
    """
    unseen = read_clips(dataset, split="validation")
    if {len({clip.voice for clip in unseen}), min(2, len({clip.text for clip in unseen}))} != {2}:
        raise UserError(
            f"{dataset.layout.root}: expected two voices and two held-out sentences or more, as of `make learn-check`"
        )
    groups = {"training": _spread(read_clips(dataset, split="train"), count=trained_clips), "unseen": unseen}
    asked = {name: [Prompt(clip, _reference(clip, unseen)) for clip in clips] for name, clips in groups.items()}
    speaker, untrained = (RunSynthesizer(run, dataset=dataset, step=one) for one in (step, 0))
    transcriber = MelTranscriber(dataset.info.contract.features, vocoder=vocoder)
    voices = VoiceClassifier(unseen, speaker=speaker)
    lines: list[Measurement] = []
    for name, questions in asked.items():
        clips, spoken = groups[name], speaker.synthesize(questions)
        heard, copied = (transcriber.evaluate([one.mel for one in mels], clips) for mels in (spoken, clips))
        babble = untrained.synthesize(questions, own_end=False)
        lines += _of_speech(name, clips, spoken) + _of_words(name, heard, copied)
        lines.append(
            Measurement(
                name, "mel distance, of the untrained model's", _ratio(clips, spoken, babble), "≤", OF_UNTRAINED
            )
        )
        by_pitch = nearest_by_pitch(heard.pitches_hz, recorded_hz=copied.pitches_hz, recordings=clips)
        by_embedding = voices.nearest([one.mel for one in spoken])
        lines += _of_voices(name, clips, {"voice by speaker embedding": by_embedding, "voice by pitch": by_pitch})
    return speaker.step, lines + _without_reference(unseen, speaker=speaker, transcriber=transcriber)


def _without_reference(
    unseen: list[Clip], *, speaker: RunSynthesizer, transcriber: MelTranscriber
) -> list[Measurement]:
    """Measurements of unseen sentences without a reference; their length may be that of either voice."""
    voices: dict[str, list[Clip]] = {}
    for clip in unseen:
        voices.setdefault(clip.text, []).append(clip)
    clips = [recorded[0] for recorded in voices.values()]
    spoken = speaker.synthesize([Prompt(clip, None) for clip in clips])
    lengths = [
        any(has_length_of(len(one.mel), clip.frames) for clip in recorded)
        for one, recorded in zip(spoken, voices.values(), strict=True)
    ]
    errors = transcriber.evaluate([one.mel for one in spoken], clips).grammar_errors
    return [
        _of_moves(NO_REFERENCE, spoken),
        Measurement(NO_REFERENCE, "length within 15 % of either voice's", _share(lengths), "≥", RIGHT_LENGTH),
        Measurement(NO_REFERENCE, "word errors under the grammar", errors, "≤", WORD_ERRORS["unseen"]),
    ]


def _spread(clips: list[Clip], *, count: int) -> list[Clip]:
    """About `count` clips, both voices of each sentence, spread over all sentences."""
    texts = sorted({clip.text for clip in clips})
    chosen = {texts[place] for place in np.linspace(0, len(texts) - 1, max(1, count // 2)).astype(int)}
    return [clip for clip in clips if clip.text in chosen]


def _reference(clip: Clip, unseen: list[Clip]) -> Clip:
    """A clip that was not in training: the same voice, the next sentence."""
    others = [one for one in unseen if one.voice == clip.voice and one.text != clip.text]
    return next((one for one in others if one.text > clip.text), others[0])


def _of_speech(name: str, clips: list[Clip], spoken: list[SynthesizedClip]) -> list[Measurement]:
    lengths = [has_length_of(len(one.mel), clip.frames) for one, clip in zip(spoken, clips, strict=True)]
    return [_of_moves(name, spoken), Measurement(name, "length within 15 %", _share(lengths), "≥", RIGHT_LENGTH)]


def _of_moves(name: str, spoken: list[SynthesizedClip]) -> Measurement:
    moves = np.concatenate([orderly_moves(one.alignment) for one in spoken])
    return Measurement(name, "attention moves 0 to 2 tokens", _share(moves), "≥", ORDERLY)


def _share(right: list[bool] | np.ndarray) -> float:
    """The fraction of True; 0 if there is nothing to measure, as if every clip ends with its first step."""
    return float(np.mean(right)) if len(right) else 0.0


def _of_words(name: str, heard: AsrMetrics, copied: AsrMetrics) -> list[Measurement]:
    return [
        Measurement(name, "word errors under the grammar", heard.grammar_errors, "≤", WORD_ERRORS[name]),
        Measurement(name, "  of the recordings' mels", copied.grammar_errors),
        Measurement(name, "word errors with a model of English", heard.english_errors),
        Measurement(name, "  of the recordings' mels", copied.english_errors),
    ]


def _ratio(clips: list[Clip], spoken: list[SynthesizedClip], babble: list[SynthesizedClip]) -> float:
    ours, theirs = (
        np.mean([dtw_distance_db(one.mel, clip.mel) for one, clip in zip(mels, clips, strict=True)])
        for mels in (spoken, babble)
    )
    return float(ours / theirs)


def _of_voices(name: str, clips: list[Clip], found: dict[str, list[str]]) -> list[Measurement]:
    """Fractions of clips in the requested voice, by each classifier."""
    return [
        Measurement(
            name, measure, _share([one == clip.voice for one, clip in zip(told, clips, strict=True)]), "≥", RIGHT_VOICE
        )
        for measure, told in found.items()
    ]
