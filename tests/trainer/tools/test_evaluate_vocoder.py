"""`myxtts-train vocoder evaluate`: recordings through Griffin-Lim and vocoders."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from shared.features import preset
from tests.trainer.vocoders import write_small_vocoder
from trainer.speech.recording import Recording, find_recordings, mel_of, read_recordings
from trainer.tools.evaluate_vocoder import ROWS, mean_figures, measure_vocoders, short_names

CLIPS = Path("tests/corpora/english/wavs")
SPEC = preset("hifigan-22k")


@pytest.mark.slow
def test_griffin_lim_is_nearer_to_a_recording_than_a_vocoder_with_random_weights(
    command: Callable, tmp_path: Path
) -> None:
    path, out = write_small_vocoder(tmp_path / "small.safetensors", features="hifigan-22k"), tmp_path / "figures.jsonl"
    clips = sorted(CLIPS.glob("*.wav"))[:2]
    outcome = command("vocoder", "evaluate", *clips, "--features", "hifigan-22k", "--vocoder", path, "--out", out)
    assert outcome.code == 0, outcome.err
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [(row["vocoder"], row["clip"]) for row in rows] == [
        (name, str(clip)) for clip in clips for name in ("griffin-lim", str(path))
    ]
    figures = mean_figures(rows)
    for measure in ("mel_distance_db", "spectral_convergence", "log_magnitude_distance", "periodicity_rms"):
        means = figures[measure].by_vocoder
        assert means["griffin-lim"] < means[str(path)]
        assert figures[measure].clips == 2
    assert all(row["real_time_factor"] > 0 for row in rows)
    assert "copy-synthesis of 2 recordings, mels of hifigan-22k" in outcome.out
    for words in (words for _, words, *_ in ROWS):
        assert words in outcome.out
    assert f"{figures['mel_distance_db'].by_vocoder['griffin-lim']:.2f} dB" in outcome.out


def test_a_vocoder_that_gives_the_recording_back_is_at_no_distance() -> None:
    (recording,) = read_recordings([CLIPS / "EN001-0001.wav"], spec=SPEC)
    perfect = {"perfect": lambda mel: recording.samples if len(mel) > 1 else np.zeros(256, np.float32)}
    (found,) = measure_vocoders([recording], vocoders=perfect, spec=SPEC)
    row = found.row()
    assert (row["spectral_convergence"], row["mel_distance_db"], row["voicing_error"]) == (0.0, 0.0, 0.0)
    assert 0 < row["real_time_factor"] < 1
    assert row["misheard"] is None


def test_words_are_compared_with_those_heard_in_the_recording() -> None:
    (recording,) = read_recordings([CLIPS / "EN001-0001.wav"], spec=SPEC)
    vocoders = {"perfect": lambda mel: recording.samples, "silent": lambda mel: np.zeros(len(mel) * 256, np.float32)}

    def words(samples: np.ndarray) -> str:
        return "One, two three four." if np.abs(samples).max() > 0 else "two three for"

    perfect, silent = measure_vocoders([recording], vocoders=vocoders, spec=SPEC, transcribe=words)
    assert (perfect.misheard, silent.misheard) == (0.0, 50.0)
    assert mean_figures([silent.row()])["misheard"].by_vocoder == {"silent": 50.0}
    (unheard,) = measure_vocoders(
        [recording], vocoders={"any": vocoders["perfect"]}, spec=SPEC, transcribe=lambda _: ""
    )
    assert unheard.row()["misheard"] is None


def test_vocoders_are_compared_by_the_clips_of_which_each_was_measured() -> None:
    measures = dict.fromkeys(name for name, *_ in ROWS)
    rows = [
        {**measures, "vocoder": vocoder, "clip": clip, "pesq": pesq, "stoi": 0.5}
        for vocoder, of_clips in (("good", (2.0, 4.0, 3.0)), ("fails", (3.0, None, 4.0)))
        for clip, pesq in zip("abc", of_clips, strict=True)
    ]
    figures = mean_figures(rows)
    assert figures["pesq"] == ({"good": 2.5, "fails": 3.5}, 2)
    assert figures["stoi"] == ({"good": 0.5, "fails": 0.5}, 3)
    assert figures["misheard"] == ({}, 0)


def test_two_files_of_the_same_name_are_told_apart() -> None:
    assert short_names(["griffin-lim", "runs/a/vocos.safetensors"]) == ["griffin-lim", "vocos"]
    own = ["griffin-lim", "runs/a/vocoder.safetensors", "runs/b/vocoder.safetensors"]
    assert short_names(own) == own


def test_recordings_are_resampled_and_their_mels_are_those_of_datasets(tmp_path: Path) -> None:
    samples, rate_hz = soundfile.read(CLIPS / "EN001-0001.wav", dtype="float32")
    soundfile.write(tmp_path / "half.flac", samples[::2], rate_hz // 2)
    one, half = read_recordings([CLIPS / "EN001-0001.wav", tmp_path / "half.flac"], spec=SPEC)
    assert isinstance(one, Recording)
    assert len(half.samples) == pytest.approx(len(one.samples), abs=2)
    np.testing.assert_array_equal(one.mel, mel_of(one.samples, spec=SPEC))
    assert len(one.mel) == SPEC.num_frames(len(one.samples))


@pytest.mark.slow
def test_without_a_preset_the_mels_are_those_of_the_vocoder_and_others_are_refused(
    command: Callable, tmp_path: Path
) -> None:
    path = write_small_vocoder(tmp_path / "wide.safetensors", features="bigvgan-24k-100")
    outcome = command("vocoder", "evaluate", CLIPS / "EN001-0001.wav", "--vocoder", path)
    assert outcome.code == 0, outcome.err
    assert "copy-synthesis of 1 recordings, mels of bigvgan-24k-100" in outcome.out
    other = write_small_vocoder(tmp_path / "other.safetensors", features="hifigan-22k")
    refused = command("vocoder", "evaluate", CLIPS / "EN001-0001.wav", "--vocoder", path, "--vocoder", other)
    assert refused.code == 2
    assert f"{other}: a vocoder for mels of hifigan-22k, not bigvgan-24k-100" in refused.err.splitlines()[-1]


def test_folders_are_searched_for_audio_files(tmp_path: Path) -> None:
    for name in ("b/two.flac", "a/one.WAV", "a/text.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    found = find_recordings([tmp_path, tmp_path / "named.raw"])
    assert [path.name for path in found] == ["one.WAV", "two.flac", "named.raw"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["EMPTY", "--features", "hifigan-22k"], "no audio file, such as .wav, .flac, .mp3 or .m4a"),
        (["nowhere.wav", "--features", "hifigan-22k"], "nowhere.wav: "),
        (["nowhere.wav", "--features", "hifigan-99k"], "hifigan-99k"),
        (["A"], "neither --features nor --vocoder: expected one of them, which says what kind of mels to make"),
        (["nowhere.wav", "--features", "hifigan-22k", "--vocoder", "none.safetensors"], "none.safetensors: cannot be"),
        (["A", "--features", "hifigan-22k", "--listener", "me"], "listener 'me': expected none, pocketsphinx[:MODEL]"),
        (
            ["A", "--features", "hifigan-22k", "--listener", "pocketsphinx", "--language", "de"],
            "listener pocketsphinx: does not know de",
        ),
    ],
)
def test_a_mistake_is_one_line(command: Callable, tmp_path: Path, words: list[str], expected: str) -> None:
    (tmp_path / "empty").mkdir()
    given = [{"EMPTY": str(tmp_path / "empty"), "A": str(CLIPS / "EN001-0001.wav")}.get(word, word) for word in words]
    outcome = command("vocoder", "evaluate", *given)
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1].startswith("error: ")
    assert expected in outcome.err.splitlines()[-1]
