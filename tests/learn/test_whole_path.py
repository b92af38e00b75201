"""Corpus, shards, a step of training and the learn check, with tones for voices: most bounds are missed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from shared.config import load_config
from shared.dataset import Dataset
from tests.commands import runner
from tests.learn import check
from tests.learn.clips import read_clips
from trainer.config.train_config import TrainConfig
from trainer.training.train import train


@pytest.mark.slow
@pytest.mark.usefixtures("op_by_op")
@pytest.mark.filterwarnings("ignore:Even though the")
def test_every_measure_of_an_unlearnt_model_is_taken_and_most_are_missed(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    overrides = ["model.size=pico", "steps=1", "input.global_frames_per_batch=400", "synthesis_eval.clips=0"]
    config = load_config("configs/learn_check.yaml", of=TrainConfig, overrides=overrides)
    train(config, data=data, run=tmp_path / "run", allocator="")
    command = runner(check.main, name="check", monkeypatch=monkeypatch, capsys=capsys)
    outcome = command(tmp_path / "run", data, "--clips", "2")
    assert outcome.code == 1, outcome.err
    judged = json.loads((tmp_path / "run" / "learn_check.json").read_text(encoding="utf-8"))
    assert judged["step"] == 1
    assert not judged["passed"]
    lines = judged["measures"]
    assert len(lines) == 21
    assert all(np.isfinite(line["got"]) for line in lines)
    missed = {line["measure"] for line in lines if line["verdict"] == "missed"}
    assert {"word errors under the grammar", "mel distance, of the untrained model's"} <= missed
    assert outcome.out.count("missed") == sum(line["verdict"] == "missed" for line in lines)


def test_a_run_that_is_none_is_a_line(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = runner(check.main, name="check", monkeypatch=monkeypatch, capsys=capsys)(tmp_path / "nowhere", data)
    assert outcome.code == 2
    assert "no run here" in outcome.err
    assert len(outcome.err.strip().splitlines()) == 1


def test_clips_are_those_of_the_manifest(data: Path) -> None:
    dataset = Dataset.open(data)
    for split in ("train", "validation"):
        rows = dataset.manifest(split).select(["text", "speaker", "frames", "tokens"]).to_pylist()
        expected = sorted(
            (row["text"], row["speaker"].rpartition("/")[2], row["frames"], row["tokens"]) for row in rows
        )
        clips = read_clips(dataset, split=split)
        assert [(clip.text, clip.voice, clip.frames, len(clip.tokens)) for clip in clips] == expected
        assert len(clips) % 2 == 0
