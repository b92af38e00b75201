"""`myxtts-data score`: a table of scores, and a source that reads it."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from pipelines.config import BuildConfig
from pipelines.score import score as scoring
from pipelines.score.score import list_utterances, score
from preprocess.utterance import Utterance
from shared.dataset import Dataset
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
    assert [row["utterance_id"] for row in rows] == ["one/C00000", "one/C00002"]
    assert out.read_text().startswith(HEADER)
    assert all(1 < float(value) < 5 for row in rows for name, value in row.items() if name != "utterance_id")
    # the setting that the command prints is one that the build reads
    scores = yaml.safe_load(ended.stdout.splitlines()[-1])["scores"]
    (low, high), before = sorted(float(row["dnsmos_ovrl"]) for row in rows), out.read_bytes()
    scores["dnsmos_ovrl"]["min"] = (low + high) / 2
    words = [f"sources.one.scores={scores}", "sources.one.max_utterances=null"]
    dataset = Dataset.open(builds.build(tmp_path / "data", config=config, overrides=words))
    (best,) = (row["utterance_id"] for row in rows if float(row["dnsmos_ovrl"]) == high)
    assert [record.utterance_id for record in dataset.records("train")] == [best]
    # nothing is scored again, also where the source has a bound
    again = builds.run("score", str(config), *words, "--out", str(out))
    assert (again.returncode, out.read_bytes()) == (1, before)
    assert "0 recordings scored, 1 that cannot be read\nthe table had 2 recordings already" in again.stdout


def test_utterances_are_those_of_the_lists_whatever_their_number_and_scores(config: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("C00001\n")
    (tmp_path / "scores.csv").write_text("utterance_id,x\n")
    document = yaml.safe_load(config.read_text())
    bounds = {"x": {"file": str(tmp_path / "scores.csv"), "min": 3}}
    document["sources"]["one"] |= {"exclude": str(tmp_path / "bad.txt"), "scores": bounds}
    settings = BuildConfig.model_validate(document)
    assert [one.id for one in list_utterances(settings, known=())] == ["one/C00000", "one/C00002"]
    assert [one.id for one in list_utterances(settings, known={"one/C00000"})] == ["one/C00002"]


def utterances(*names: str) -> list[Utterance]:
    return [
        Utterance(id=name, audio_path=f"folder/{name}", text="", language="eng_Latn", speaker="a") for name in names
    ]


def test_a_recording_that_ends_its_process_or_never_ends_is_a_problem_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scoring, "PROCESS", "tests.pipelines.score.process")
    monkeypatch.setattr(scoring, "MAX_RECORDING_S", 2.0)
    monkeypatch.setenv("PYTHONPATH", str(Path.cwd()))
    given = utterances("1", "2", "crash", "3", "hang", "4")
    found = list(score(given, max_duration_s=60, workers=1))
    assert [one.utterance for one in found] == given
    assert [one.problem for one in found] == [
        *("", "", "its decoder was ended by SIGABRT", "", "its decoder was not done within 2 s", "")
    ]
    processes = [one.scores.get("process") for one in found]
    assert processes[0] == processes[1]  # one process for many recordings
    assert len({processes[0], processes[3], processes[5]}) == 3
    with pytest.raises(RuntimeError, match="folder/defect: the process that scores it ended with exit code 1"):
        list(score(utterances("defect"), max_duration_s=60, workers=1))


def test_several_processes_answer_in_the_order_of_the_recordings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "PROCESS", "tests.pipelines.score.process")
    monkeypatch.setenv("PYTHONPATH", str(Path.cwd()))
    found = list(score(utterances(*map(str, range(40))), max_duration_s=60, workers=3))
    assert [one.scores["ovrl"] for one in found] == list(range(40))
    assert 1 <= len({one.scores["process"] for one in found}) <= 3


@pytest.mark.slow
def test_an_interrupted_command_keeps_what_is_done_and_leaves_no_process(tmp_path: Path) -> None:
    out = tmp_path / "scores.csv"
    words = [builds.COMMAND, "score", "configs/preprocess_sample.yaml", "--out", str(out), "--workers", "1"]
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        while process.poll() is None and not (out.exists() and out.read_text().count("\n") > 2):
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=30)
    rows = out.read_text().splitlines()[1:]
    assert process.returncode == 130
    assert said == f"interrupted: {out} has {len(rows)} of 64 recordings; the same command continues\n"
    assert all(row.count(",") == 4 for row in rows)
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
