"""Check the measures of `myxtts-speak evaluate`: `python -m tests.learn.evaluation_check RUN DATA`.

RUN and DATA are those of a learn check. The recordings are evaluated as if the model had spoken them: no measure may
see a difference. Then three defects are put in, and the measure that is meant for each must see it: a shifted voice
(librosa shifts the pitch by three semitones), a dropped word (flite speaks the text without its middle word), and a cut
end (the last third is missing). Exit code 1: a measure is blind.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import click
import librosa
from rich.console import Console
from rich.table import Table

from preprocess.mel import log_mel
from shared.dataset import Dataset
from tests.learn.corpus import speak
from tests.learn.grammar import any_words_jsgf
from trainer.evaluation.clip_measures import Sound, stop_failures
from trainer.evaluation.eval_clips import EvalClip, Row, choose_clips, read_mels
from trainer.evaluation.group_figures import Figures, summarise
from trainer.evaluation.listeners import PocketsphinxListener
from trainer.speech.griffin_lim import griffin_lim
from trainer.speech.options import SpeechOptions
from trainer.speech.synthesizer import Synthesizer
from trainer.tools.evaluate_speech import SpeechEvaluator

SEMITONES = 3
SHOWN = (
    *("word_error_rate", "character_error_rate", "mel_cepstral_distance_db", "f0_rms_cents", "f0_shift_cents"),
    *("voicing_error", "duration_ratio", "speaker_similarity_own", "stop_failures_per_1000"),
)

Change = Callable[[EvalClip, Sound], Sound]


class Spoiler:
    """Puts defects into recordings."""

    def __init__(self, synthesizer: Synthesizer):
        self._synthesizer, self._spec = synthesizer, synthesizer.contract.features

    def shift_voice(self, clip: EvalClip, recording: Sound) -> Sound:
        """The recording three semitones higher."""
        samples = librosa.effects.pitch_shift(recording.samples, sr=self._spec.sample_rate_hz, n_steps=SEMITONES)
        return Sound(log_mel(samples, spec=self._spec)[: len(recording.mel)], samples)

    def drop_word(self, clip: EvalClip, recording: Sound) -> Sound:
        """The text without its middle word, in the same voice."""
        words = clip.text.split()
        words.pop(len(words) // 2)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "clip.wav"
            speak(" ".join(words), voice=clip.speaker.rpartition("/")[2], out=path)
            (mel,) = self._synthesizer.read_voice(path).mels
        return Sound(mel, griffin_lim(mel, spec=self._spec))

    def cut_end(self, clip: EvalClip, recording: Sound) -> Sound:
        """The recording without its last third."""
        kept = len(recording.mel) * 2 // 3
        return Sound(recording.mel[:kept], recording.samples[: kept * self._spec.hop_samples])


def measure_change(
    evaluator: SpeechEvaluator, clips: Sequence[EvalClip], *, recordings: Sequence[Sound], change: Change
) -> Figures:
    """The figures of changed recordings."""
    rows: list[Row] = []
    for clip, recording in zip(clips, recordings, strict=True):
        row = evaluator.measure(clip, change(clip, recording), recording=recording, reference=recording)
        failures = stop_failures(duration_ratio=row["duration_ratio"], has_ended=True)
        rows.append({**row, "stop_failures": failures, "problems": [], "real_time_factor": 0.0})
    return summarise(rows)


def blind_measures(found: dict[str, Figures]) -> list[str]:
    """The measures that see a difference where there is none, or none where there is one."""
    same = found["recordings"]
    expected = {
        "recordings have word errors of their own alone": same["word_error_rate"] == same["recording_word_error_rate"],
        "recordings have no distance": same["mel_cepstral_distance_db"] < 0.05,
        "recordings have no difference in pitch": (same["f0_rms_cents"], same["voicing_error"]) == (0.0, 0.0),
        "recordings have their duration": same["duration_error"] == 0.0,
        "recordings are similar": abs(same["speaker_similarity_own"] - 1.0) < 1e-5,
        "recordings stop": same["stop_failures_per_1000"] == 0.0,
        "pitch sees a shifted voice": abs(found["shifted voice"]["f0_shift_cents"] - 100 * SEMITONES) < 50,
        "similarity sees a shifted voice": found["shifted voice"]["speaker_similarity_own"] < 0.95,
        "words see a dropped word": found["dropped word"]["word_error_rate"] > same["word_error_rate"] + 0.1,
        "failures to stop see a cut end": found["cut end"]["stop_failures_per_1000"] == 1000.0,
        "words see a cut end": found["cut end"]["word_error_rate"] > same["word_error_rate"] + 0.1,
    }
    return [name for name, is_met in expected.items() if not is_met]


def check_measures(run: Path, *, data: Path, count: int) -> dict[str, Figures]:
    """The figures of the recordings and of each defect."""
    dataset, synthesizer = Dataset.open(data), Synthesizer.load(run)
    evaluator = SpeechEvaluator(
        synthesizer,
        dataset=dataset,
        listener=PocketsphinxListener(grammar=any_words_jsgf()),
        options=SpeechOptions(),
    )
    clips = [one for one in choose_clips(dataset, split="validation", count=None) if len(one.text.split()) > 2][:count]
    spec = synthesizer.contract.features
    mels = list(read_mels(dataset, [clip.row for clip in clips]))
    recordings = [Sound(mel, griffin_lim(mel, spec=spec)) for mel in mels]
    spoiler = Spoiler(synthesizer)
    changes: dict[str, Change] = {
        "recordings": lambda _, recording: recording,
        "shifted voice": spoiler.shift_voice,
        "dropped word": spoiler.drop_word,
        "cut end": spoiler.cut_end,
    }
    return {
        name: measure_change(evaluator, clips, recordings=recordings, change=change) for name, change in changes.items()
    }


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--clips", "count", default=40, show_default=True, help="Clips of the validation split.")
def main(run: Path, data: Path, count: int) -> None:
    """Check the measures with RUN and DATA of a learn check."""
    found = check_measures(run, data=data, count=count)
    table = Table("measure", *found)
    for name in SHOWN:
        values = (figures[name] for figures in found.values())
        table.add_row(name, *("–" if value is None else f"{value:.3f}" for value in values))
    Console(highlight=False).print(table)
    blind = blind_measures(found)
    for name in blind:
        click.echo(f"not met: {name}")
    sys.exit(1 if blind else 0)


if __name__ == "__main__":
    main()
