"""Evaluation of speech: recordings against themselves, defects that are seen, and the command."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import librosa
import numpy as np
import pytest

from preprocess.mel import log_mel
from shared.dataset import Dataset
from shared.errors import UserError
from shared.features import preset
from tests.trainer import runs
from trainer.evaluation.clip_measures import Sound
from trainer.evaluation.eval_clips import EvalClip, choose_clips, read_mels
from trainer.speech.options import SpeechOptions
from trainer.speech.plausibility import NO_END
from trainer.speech.request import SynthesisRequest, TextFrontEnd
from trainer.speech.speech import Speech, SpokenPiece
from trainer.speech.voice import Voice
from trainer.tools.evaluate_speech import EvaluatedClip, SpeechEvaluator, joined_sound
from trainer.tools.speech_report import Facts, figure_rows, group_table, write_clips, write_report

SILENT = SimpleNamespace(hears=lambda language: language == "eng_Latn", transcribe=lambda *_, **__: "Mr. One")


class Parrot:
    """A synthesizer that speaks the recordings of the dataset again; `spoil` changes their mels."""

    languages, rate_hz, speaks_without_voice = ("eng_Latn", "deu_Latn", "pes_Arab"), 22_050, True

    def __init__(self, dataset: Dataset, *, spoil: Callable[[np.ndarray], np.ndarray] = lambda mel: mel):
        self.contract, self.run, self.spoil = dataset.info.contract, Path("run"), spoil
        self.front_end = TextFrontEnd(self.run, languages=self.languages)
        self.asked: list[tuple[str, int, str | None]] = []
        self.mels: Iterator[np.ndarray] = iter(())

    def speaker_embedding(self, mel: np.ndarray) -> np.ndarray:
        mean = mel.mean(0) - mel.mean()
        return mean / np.linalg.norm(mean)

    def vocode(self, mel: np.ndarray, **_: object) -> np.ndarray:
        return np.zeros(len(mel) * 256, np.float32)  # Griffin-Lim is slow

    def speak_batch(
        self, requests: Sequence[SynthesisRequest], *, voice: Voice | None, options: SpeechOptions, **_: object
    ) -> Iterator[Speech]:
        self.asked.append((requests[0].language, len(requests), voice and voice.name))
        for _request in requests:
            mel = self.spoil(next(self.mels))
            samples = np.zeros(len(mel) * 256, np.float32)
            piece = SpokenPiece("text", np.zeros(3, np.int32), mel, np.ones([2, 3]), samples, pause_s=0.4)
            yield Speech((piece,), self.rate_hz)


def evaluated(
    dataset: Dataset, parrot: Parrot, *, count: int = 4, with_pitch: bool = False, monkeypatch: pytest.MonkeyPatch
) -> list[EvaluatedClip]:
    """Evaluate `count` training clips; the parrot speaks what is read for comparison."""
    evaluator = SpeechEvaluator(
        parrot,  # type: ignore[arg-type]
        dataset=dataset,
        listener=SILENT,  # type: ignore[arg-type]
        options=SpeechOptions(),
        with_pitch=with_pitch,
    )
    speak = evaluator._speak

    def speak_after_reading(clips: Sequence[EvalClip], **given: Any) -> list[Speech]:
        parrot.mels = read_mels(dataset, [clip.row for clip in clips])
        return speak(clips, **given)

    monkeypatch.setattr(evaluator, "_speak", speak_after_reading)
    return list(evaluator.evaluate(choose_clips(dataset, split="train", count=count), log=lambda _: None))


def test_recordings_have_no_distance_from_themselves(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    for one in evaluated(dataset, Parrot(dataset), monkeypatch=monkeypatch):
        row = one.row
        assert row["mel_cepstral_distance_db"] == pytest.approx(0.0, abs=0.02)
        assert row["duration_ratio"] == 1.0
        assert row["speaker_similarity_own"] == (pytest.approx(1.0) if one.clip.reference else None)
        assert row["stop_failures"] == []
        assert (row["word_errors"], row["heard"]) == (row["recording_word_errors"], row["recording_heard"])
        assert (row["heard"] is None) == (row["language"] != "eng_Latn")
        if row["heard"]:
            assert row["heard"] == "Mister One"  # prepared as the texts of datasets are
        assert row["f0_rms_cents"] is None


@pytest.mark.slow
def test_clips_of_a_language_and_a_voice_are_spoken_together_in_that_voice(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    parrot = Parrot(dataset)
    found = evaluated(dataset, parrot, count=40, monkeypatch=monkeypatch)
    assert len({one.clip.utterance_id for one in found}) == 40
    assert sum(count for _, count, _ in parrot.asked) == 40
    assert max(count for _, count, _ in parrot.asked) <= 16
    names = {one.clip.speaker for one in found if one.clip.reference}
    assert {voice for _, _, voice in parrot.asked} - {None} == names


def test_clips_that_the_model_cannot_speak_are_left_out_and_counted(dataset: Dataset) -> None:
    parrot, said = Parrot(dataset), []
    evaluator = SpeechEvaluator(parrot, dataset=dataset, listener=None, options=SpeechOptions())  # type: ignore[arg-type]
    clips = choose_clips(dataset, split="train", count=None)
    assert evaluator.speakable(clips, log=said.append) == clips
    assert said == []
    parrot.languages = ("eng_Latn",)
    alone = clips[0]._replace(reference=None, language="eng_Latn")
    parrot.speaks_without_voice = False
    found = evaluator.speakable([*clips, alone], log=said.append)
    assert found == [clip for clip in clips if clip.language == "eng_Latn" and clip.reference]
    assert [line.partition(": ")[2] for line in said] == [
        "in languages that the model was not trained on",
        "their speakers have no other clip, whose voice to take",
    ]
    with pytest.raises(UserError, match="no clip that the model can speak"):
        evaluator.speakable([alone], log=said.append)


def test_speech_that_is_no_number_is_a_clip_without_measures(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    parrot = Parrot(dataset, spoil=lambda mel: np.full_like(mel, np.nan))
    found = evaluated(dataset, parrot, count=3, with_pitch=True, monkeypatch=monkeypatch)
    write_clips(found, total=3, out=tmp_path, shown=1)
    for line in (tmp_path / "clips.jsonl").read_text("utf-8").splitlines():
        assert "NaN" not in line
        row = json.loads(line)
        assert row["mel_cepstral_distance_db"] is None
        assert row["f0_rms_cents"] is None
        assert row["speaker_similarity_own"] is None


def test_a_cut_end_is_a_failure_to_stop_and_shorter(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    parrot = Parrot(dataset, spoil=lambda mel: mel[: len(mel) * 6 // 10])
    for one in evaluated(dataset, parrot, monkeypatch=monkeypatch):
        assert one.row["stop_failures"] == ["early"]
        assert one.row["duration_ratio"] == pytest.approx(0.6, abs=0.01)
        assert one.row["mel_cepstral_distance_db"] > 0.5


@pytest.mark.slow
def test_a_higher_voice_is_seen_by_its_pitch_and_its_similarity(tone_dataset: tuple[Dataset, Sound, Sound]) -> None:
    dataset, low, high = tone_dataset
    evaluator = SpeechEvaluator(
        Parrot(dataset),  # type: ignore[arg-type]
        dataset=dataset,
        listener=None,
        options=SpeechOptions(),
    )
    (clip,) = choose_clips(dataset, split="train", count=1)
    same = evaluator.measure(clip, low, recording=low, reference=low)
    assert same["f0_rms_cents"] == 0.0
    assert same["voicing_error"] == 0.0
    assert same["heard"] is None
    assert same["recording_similarity_own"] == pytest.approx(1.0)
    shifted = evaluator.measure(clip, high, recording=low, reference=low)
    assert shifted["f0_shift_cents"] == pytest.approx(400.0, abs=30)
    assert shifted["speaker_similarity_own"] < same["speaker_similarity_own"]
    alone = evaluator.measure(clip, low, recording=low, reference=None)
    assert (alone["speaker_similarity_own"], alone["recording_similarity_own"]) == (None, None)


@pytest.fixture
def tone_dataset(dataset: Dataset) -> tuple[Dataset, Sound, Sound]:
    """The sample, and a hum with vibrato: as it is, and four semitones higher by librosa."""
    spec = preset("hifigan-22k")
    time_s = np.arange(spec.sample_rate_hz) / spec.sample_rate_hz
    phase = 2 * np.pi * (140.0 * time_s + 0.1 * np.sin(2 * np.pi * 5 * time_s))
    hum = np.sum([np.sin(n * phase) / n for n in range(1, 12)], axis=0).astype(np.float32) / 5
    high = librosa.effects.pitch_shift(hum, sr=spec.sample_rate_hz, n_steps=4)
    return dataset, *(Sound(log_mel(one, spec=spec), one) for one in (hum, high))


def test_sentences_are_joined_with_their_pauses() -> None:
    piece = SpokenPiece("a", np.zeros(1), np.ones([10, 80], np.float32), np.ones([1, 1]), np.ones(2560), pause_s=0.5)
    sound = joined_sound(Speech((piece, piece), 22_050), hop_samples=256, silence=-11.5)
    assert sound.mel.shape == (10 + 43 + 10, 80)
    assert (sound.mel[10:53] == -11.5).all()
    assert len(sound.samples) == len(sound.mel) * 256


@pytest.mark.slow
def test_the_folder_has_a_line_for_each_clip_the_figures_and_a_page(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    parrot = Parrot(dataset, spoil=lambda mel: mel if len(mel) % 2 else mel[: len(mel) // 2])
    found = evaluated(dataset, parrot, count=12, monkeypatch=monkeypatch)
    odd = next(one for one in found if not one.row["stop_failures"])
    odd.row["problems"].append(NO_END)
    odd.row["text"] = "<script>alert(1)</script>"
    groups, shown = write_clips(found, total=len(found), out=tmp_path, shown=3)
    lines = [json.loads(line) for line in (tmp_path / "clips.jsonl").read_text("utf-8").splitlines()]
    assert lines == [one.row for one in found]
    assert [len(part) for part in shown] == [3, 3]
    assert [one.badness for one in shown.worst] == sorted((one.badness for one in found), reverse=True)[:3]
    assert not {id(one) for one in shown.worst} & {id(one) for one in shown.others}
    facts = Facts(run="run", checkpoint="the last", data="data", split="train", listener="none")
    write_report(groups, shown, facts=facts, rate_hz=22_050, out=tmp_path)
    summary = json.loads((tmp_path / "summary.json").read_text("utf-8"))
    assert summary["all"]["all"]["clips"] == 12
    assert summary["split"] == "train"
    assert summary["speaker"].keys() == {one.clip.speaker for one in found}
    page = (tmp_path / "index.html").read_text("utf-8")
    assert page.count("<audio") == 2 * 6
    assert "<script" not in page
    for _, speech, _ in figure_rows(groups["all"]["all"]):
        assert speech in page


def test_the_page_has_the_speakers_with_the_most_clips_and_says_how_many_are_hidden() -> None:
    groups = {f"speaker {number:02d}": {"clips": number, "duration_ratio": 1.0} for number in range(53)}
    table = group_table(groups)
    assert table.header == ["duration over the recording's"]
    assert table.rows[0] == ("speaker 52", 52, ["1.00"])
    assert (len(table.rows), table.hidden) == (50, 3)


def test_mels_of_another_kind_are_refused_with_their_fields(dataset: Dataset) -> None:
    parrot = Parrot(dataset)
    parrot.contract = dataset.info.contract.model_copy(update={"features": preset("bigvgan-24k-100")})
    with pytest.raises(
        UserError, match=r"other mels than run was trained on: .*features.sample_rate_hz is 22050, the run has 24000"
    ):
        SpeechEvaluator(parrot, dataset=dataset, listener=None, options=SpeechOptions())  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_command_speaks_a_split_and_prints_its_figures(
    trained: runs.Trained, speak_command: Callable, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    run = trained.undisturbed.run
    words = (
        "evaluate",
        run,
        "--data",
        trained.data,
        "--split",
        "train",
        "--clips",
        2,
        "--no-pitch",
        "--seconds",
        1,
        "--out",
        out,
    )
    outcome = speak_command(*words)
    assert outcome.code == 0, outcome.err
    assert "failures to stop per 1,000" in outcome.out
    assert "mel cepstral distance" in outcome.out
    assert f"{out}/index.html: the worst clips" in outcome.out
    assert len((out / "clips.jsonl").read_text("utf-8").splitlines()) == 2
    unknown = speak_command("evaluate", run, "--data", trained.data, "--listener", "ear")
    assert unknown.code == 2
    assert unknown.err.startswith("error: listener 'ear': expected none, pocketsphinx[:MODEL]")
