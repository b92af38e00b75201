"""`myxtts-data score`: a table of scores, and a source that reads it."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pytest
import soundfile
import yaml
from speechmos import dnsmos as authors

from pipelines.config import BuildConfig
from pipelines.score import process
from pipelines.score import score as scoring
from pipelines.score.score import list_elements, score
from pipelines.tables.csv_table import CsvTable
from preprocess import speaker_encoder
from preprocess.corpora import read_corpus
from preprocess.dnsmos import RATE_HZ
from preprocess.utterance import Reason, Rejected, Rejection, Utterance
from shared.dataset import Dataset
from shared.errors import UserError
from shared.messages import counted
from tests.pipelines import builds

HEADER = "utterance_id,dnsmos_ovrl,dnsmos_sig,dnsmos_bak,dnsmos_p808\n"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A config of three recordings in LJSpeech's layout, one of them damaged."""
    corpus = builds.make_corpus(tmp_path / "corpus", clips=3)
    bad = corpus / "wavs/C00001.wav"
    bad.unlink()
    bad.write_bytes(b"RIFF")
    source = {"reader": "ljspeech", "root": str(corpus), "language": "en", "max_utterances": 1}
    settings = {"sources": {"one": source}, "tokenizer": "tests/corpora/tokenizer.json", "max_rejected_fraction": 1}
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(settings | {"validation_fraction": 0}))
    return path


@pytest.mark.slow
def test_the_command_scores_every_recording_once_and_a_source_reads_its_table(config: Path, tmp_path: Path) -> None:
    out = tmp_path / "scores.csv"
    ended = builds.run("score", str(config), "--out", str(out), "--workers", "2")
    assert ended.returncode == 1, ended.stderr
    assert "C00001.wav: libsndfile: " in ended.stderr
    assert f"{out}: 2 recordings scored, 1 that cannot be read\n" in ended.stdout
    rows = list(csv.DictReader(out.open(encoding="utf-8")))
    assert {row["utterance_id"] for row in rows} == {"one/C00000", "one/C00002"}
    assert len(rows) == 2
    assert out.read_text().startswith(HEADER)
    assert all(1 < float(value) < 5 for row in rows for name, value in row.items() if name != "utterance_id")
    # the setting that the command prints is one that the build reads
    printed = yaml.safe_load(ended.stdout.splitlines()[-1])
    bound, before = printed["scores"]["dnsmos_ovrl"]["min"], out.read_bytes()
    words = [f"sources.one.scores={printed['scores']}", "sources.one.max_utterances=null"]
    dataset = Dataset.open(builds.build(tmp_path / "data", config=config, overrides=words))
    taken = {record.utterance_id for record in dataset.records("train")}
    assert taken == {row["utterance_id"] for row in rows if float(row["dnsmos_ovrl"]) >= bound} != set()
    # nothing is scored again, also where the source has a bound
    again = builds.run("score", str(config), *words, "--out", str(out))
    assert (again.returncode, out.read_bytes()) == (1, before)
    assert "0 recordings scored, 1 that cannot be read\nthe table had 2 recordings already" in again.stdout


@pytest.mark.slow
def test_music_and_silence_are_no_speech(tmp_path: Path, command: Callable) -> None:
    corpus, out, config = builds.make_corpus(tmp_path / "corpus", clips=3), tmp_path / "speech.csv", tmp_path / "c.yaml"
    samples, rate_hz = soundfile.read(corpus / "wavs/C00001.wav", dtype="float32")
    chord = 0.1 * sum(np.sin(2 * np.pi * hz * np.arange(3 * rate_hz) / rate_hz) for hz in (262, 330, 392))
    for name, made in (("C00001", np.concatenate([samples, chord, samples])), ("C00002", chord)):
        (corpus / "wavs" / f"{name}.wav").unlink()
        soundfile.write(corpus / "wavs" / f"{name}.wav", made, rate_hz)
    source = {"reader": "ljspeech", "root": str(corpus), "language": "en"}
    config.write_text(yaml.safe_dump({"sources": {"one": source}, "tokenizer": "tests/corpora/tokenizer.json"}))
    outcome = command("score", config, "--of", "speech", "--out", out)
    assert outcome.code == 0, outcome.err
    found = {row["utterance_id"][-1]: row for row in csv.DictReader(out.open(encoding="utf-8"))}
    fraction = {name: float(row["speech_fraction"]) for name, row in found.items()}
    assert fraction["0"] > 0.7
    assert fraction["2"] < 0.1
    spoken_s = 2 * len(samples) / rate_hz
    assert fraction["1"] == pytest.approx(spoken_s / (spoken_s + 3), abs=0.2)
    assert float(found["1"]["longest_pause_s"]) == pytest.approx(3, abs=0.7)
    assert "scores: {speech_fraction: {file: " in outcome.out.splitlines()[-1]


@pytest.mark.slow
def test_texts_in_another_language_than_the_stated_one_are_found_and_left_out(
    config: Path, tmp_path: Path, command: Callable
) -> None:
    metadata = tmp_path / "corpus/metadata.csv"
    said = ("These words are in English.", "Diese Wörter sind nicht auf Englisch.", "OK")
    metadata.write_text("".join(f"C{number:05}|{text}|{text}\n" for number, text in enumerate(said)))
    out = tmp_path / "languages.csv"
    outcome = command("score", config, "sources.one.max_utterances=null", "--of", "text-language", "--out", out)
    assert outcome.code == 0
    assert f"{out}: 3 texts scored, 0 that cannot be read\n" in outcome.out
    assert "33.3% have a text_language below 0.02\n" in outcome.out
    rows = {row.pop("utterance_id"): row for row in csv.DictReader(out.open(encoding="utf-8"))}
    assert {name: row["likeliest_language"] for name, row in rows.items()}["one/C00001"] == "de"
    document = yaml.safe_load(config.read_text())
    document["sources"]["one"] |= {"max_utterances": None, **yaml.safe_load(outcome.out.splitlines()[-1])}
    source = BuildConfig.model_validate(document).sources["one"]
    refused = [one.id for one in read_corpus(source, name="one") if isinstance(one, Rejection)]
    assert refused == ["one/C00001"]


@pytest.mark.slow
def test_a_text_in_a_language_that_is_not_known_has_an_empty_cell(
    config: Path, tmp_path: Path, command: Callable
) -> None:
    out = tmp_path / "languages.csv"
    words = ("sources.one.language=kbp_Latn", "--of", "text-language", "--out", out)
    outcome = command("score", config, *words)
    told = "no text_language: 3 texts in languages that the classifier does not know; any bound leaves them out"
    assert outcome.out.splitlines()[-1] == told
    assert "one/C00000,,\n" in out.read_text()
    assert "0 texts scored" in command("score", config, *words).out
    refused = command("score", config, *words, "--workers", "2")
    assert (refused.code, "text-language is measured by one process" in refused.err) == (2, True)


def test_a_table_with_empty_cells_of_a_score_shows_the_others(config: Path, tmp_path: Path, command: Callable) -> None:
    out = tmp_path / "scores.csv"
    out.write_text(HEADER + "".join(f"one/C0000{number},3.{number},,2,\n" for number in range(3)))
    shown = command("score", config, "--out", out).out
    assert "dnsmos_ovrl" in shown
    assert "dnsmos_sig" not in shown


@pytest.mark.slow
def test_a_recording_is_scored_as_the_authors_program_scores_the_file(tmp_path: Path) -> None:
    """Within what another resampling of a recording above full scale makes: the scores are from 1 to 5."""
    samples, rate_hz = soundfile.read(sorted((builds.ENGLISH / "wavs").iterdir())[5])
    path = tmp_path / "loud.wav"
    soundfile.write(path, samples / abs(samples).max() * 1.2, rate_hz, subtype="FLOAT")
    found = process.score(process.dnsmos(), path=str(path), max_duration_s=60)["scores"]
    assert isinstance(found, dict)
    expected = authors.run(str(path), RATE_HZ)
    for name, value in found.items():
        assert value == pytest.approx(expected[f"{name.removeprefix('dnsmos_')}_mos"], abs=0.03)


def test_all_networks_hear_the_rate_that_recordings_are_resampled_to() -> None:
    assert process.RATE_HZ == RATE_HZ == speaker_encoder.RATE_HZ


def test_a_recording_of_one_sample_is_too_short(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", [0.5], 48_000)
    with pytest.raises(Rejected, match="nothing is left of it at 16000 Hz"):
        process.score(process.dnsmos(), path=str(tmp_path / "a.wav"), max_duration_s=60)


def test_utterances_are_those_of_the_lists_whatever_their_number_and_scores(config: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("C00001\nC00009\n")
    (tmp_path / "scores.csv").write_text("utterance_id,x\n")
    document = yaml.safe_load(config.read_text())
    bounds = {"x": {"file": str(tmp_path / "scores.csv"), "min": 3}}
    document["sources"]["one"] |= {"exclude": str(tmp_path / "bad.txt"), "scores": bounds}
    elements = list(list_elements(BuildConfig.model_validate(document)))
    assert [one.id for one in elements if isinstance(one, Utterance)] == ["one/C00000", "one/C00002"]
    assert [one.reason for one in elements if isinstance(one, Rejection)] == [
        *(Reason.NOT_SELECTED, Reason.BAD_METADATA_ROW)
    ]


def utterances(*names: str) -> list[Utterance]:
    return [
        Utterance(id=name, audio_path=f"folder/{name}", text="", language="eng_Latn", speaker="a") for name in names
    ]


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(scoring, "PROCESS", "tests.pipelines.score.process")
    monkeypatch.setenv("PYTHONPATH", str(Path.cwd()))
    monkeypatch.setenv("SCORE_TEST_FOLDER", str(tmp_path))


@pytest.mark.slow
@pytest.mark.usefixtures("stand_in")
def test_a_recording_that_ends_its_process_or_never_ends_is_a_problem_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scoring, "MAX_WAIT_S", 5.0)
    monkeypatch.setattr(scoring, "MAX_WAITS", 0.0)
    given = utterances("1", "2", "crash", "3", "hang", "4", "defect", "5last", "6")
    found = {one.utterance.id: one for one in score(given, network="dnsmos", max_duration_s=60, workers=1)}
    assert {name: one.problem for name, one in found.items() if one.problem} == {
        "crash": "the process that scored it ended by SIGABRT",
        "hang": "took too long, and was given up",
        "defect": "the process that scored it ended with exit code 1",
    }
    assert {name: one.scores["ovrl"] for name, one in found.items() if one.scores} == {
        **{"1": 1, "2": 2, "3": 3, "4": 4, "5last": 5, "6": 6}
    }
    processes = {name: one.scores["process"] for name, one in found.items() if one.scores}
    assert processes["1"] == processes["2"]  # one process for many recordings
    assert len(set(processes.values())) == 5


@pytest.mark.slow
@pytest.mark.usefixtures("stand_in")
def test_a_process_that_takes_no_recording_ends_the_scoring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCORE_TEST_BROKEN", "1")
    with pytest.raises(UserError, match="ended with exit code 3 before it took a recording; expected enough memory"):
        list(score(utterances("1", "2"), network="dnsmos", max_duration_s=60, workers=1))


@pytest.mark.slow
@pytest.mark.usefixtures("stand_in")
def test_several_processes_work_at_once() -> None:
    names = [f"together{number}" for number in range(40)]
    found = list(score(utterances(*names), network="dnsmos", max_duration_s=60, workers=3))
    assert sorted(one.scores["ovrl"] for one in found) == list(range(40))
    assert len({one.scores["process"] for one in found}) == 3


@pytest.mark.slow
@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("names", [("1", "hang"), ("1", "hang", "hang2", *"23456789")])
def test_who_stops_listening_waits_for_no_recording(names: tuple[str, ...]) -> None:
    found = score(utterances(*names), network="dnsmos", max_duration_s=60, workers=1)
    assert next(found).utterance.id == "1"
    before_s = time.monotonic()
    found.close()
    assert time.monotonic() - before_s < 20


def test_one_process_at_a_time_adds_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("\n")
    table = CsvTable(path, columns=("id", "x"), key="id")
    table.add([{"id": "a, b", "x": "1"}])
    with pytest.raises(UserError, match="another process writes this table; wait for its end"):
        CsvTable(path, columns=("id", "x"), key="id")
    del table
    assert CsvTable(path, columns=("id", "x"), key="id").keys == {"a, b"}
    (tmp_path / "b.csv").write_text("one,two\n1,2")
    with pytest.raises(UserError, match="no column id, x"):
        CsvTable(tmp_path / "b.csv", columns=("id", "x"), key="id")
    assert (tmp_path / "b.csv").read_text() == "one,two\n1,2"


def test_rows_are_added_to_the_file_that_an_editor_put_in_the_tables_place(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    table = CsvTable(path, columns=("id", "text"), key="id")
    table.add([{"id": "a"}])
    (tmp_path / "saved").write_text("speaker,id,text\nanna,a,some words")  # without a line end
    (tmp_path / "saved").rename(path)
    table.add([{"id": "b"}])
    assert path.read_text() == "speaker,id,text\nanna,a,some words\n,b,\n"
    path.unlink()
    with pytest.raises(
        UserError, match=r"a\.csv: cannot be written \(No such file or directory\); what it has is whole"
    ):
        table.add([{"id": "c"}])


@pytest.mark.slow
def test_an_interrupted_command_keeps_what_is_done_and_leaves_no_process(tmp_path: Path) -> None:
    out = tmp_path / "scores.csv"
    words = [*builds.HEEDING_INTERRUPTS, builds.COMMAND, "score", "configs/preprocess_sample.yaml"]
    words += ["--out", out, "--workers", "1"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True) as command:
        while command.poll() is None and not (out.exists() and out.read_text().count("\n") > 2):
            time.sleep(0.05)
        children = psutil.Process(command.pid).children()
        os.killpg(command.pid, signal.SIGINT)
        _, said = command.communicate(timeout=30)
    rows = out.read_text().splitlines()[1:]
    assert command.returncode == 130
    told = {
        f"interrupted: {counted(count, 'recording')} scored now; the same command continues\n"
        for count in (len(rows) - 1, len(rows))
    }
    assert said in told  # the signal may come between a row and its count
    assert all(row.count(",") == 4 for row in rows)
    assert children
    assert psutil.wait_procs(children, timeout=10)[1] == []
