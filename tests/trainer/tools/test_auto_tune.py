"""`auto: true`: the settings that are chosen when a run begins, and kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shared.config import Document
from shared.errors import UserError
from tests.trainer.tools.test_tune import Machine
from trainer.config.train_config import TrainConfig
from trainer.tools import tune as tuning
from trainer.tools.auto_tune import auto_tuned

CONFIG = "configs/train_sample.yaml"


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """One on which four parts fit, and bfloat16 is twice as fast."""
    simulated = Machine(room=6, speeds={"bfloat16": 2.0})
    monkeypatch.setattr(tuning, "run_trial", simulated.run_trial)
    return simulated


def tuned(run: Path, *words: str, log: Callable[[str], Any] = lambda _: None) -> TrainConfig:
    document: Document = TrainConfig.overridden({"auto": True, "steps": 500}, words=words)
    given = TrainConfig.overridden({}, words=words)
    return TrainConfig.model_validate(auto_tuned(document, given=given, data=Path("d"), run=run, log=log))


def test_a_run_begins_with_what_was_chosen_and_keeps_it(machine: Machine, tmp_path: Path) -> None:
    first = tuned(tmp_path / "run")
    assert (first.model.precision, first.optimizer.microbatches, first.input.buckets) == ("bfloat16", 4, 3)
    trials = len(machine.asked)
    machine.room = 100  # another tuning would choose one part
    lines: list[str] = []
    again = tuned(tmp_path / "run", "steps=900", log=lines.append)
    assert again == first.model_copy(update={"steps": 900})
    assert len(machine.asked) == trials
    assert lines == [f"settings as tuned on a card (auto): {tmp_path}/run/tuning.json; remove this file to tune again"]
    (tmp_path / "run/tuning.json").unlink()
    assert tuned(tmp_path / "run").optimizer.microbatches == 1


def test_the_file_has_the_reasons(machine: Machine, tmp_path: Path) -> None:
    lines: list[str] = []
    tuned(tmp_path / "run", log=lines.append)
    kept = json.loads((tmp_path / "run/tuning.json").read_text())
    assert kept["machine"] == "a card"
    assert kept["settings"]["optimizer.microbatches"] == 4
    assert kept["settings"].keys() == kept["reasons"].keys()
    assert "1: does not fit into memory" in kept["reasons"]["optimizer.microbatches"]
    assert f"optimizer.microbatches=4: {kept['reasons']['optimizer.microbatches']}" in lines


def test_values_of_the_command_line_stay_at_the_start_and_later(machine: Machine, tmp_path: Path) -> None:
    assert tuned(tmp_path / "run", "model.precision=float32").model.precision == "float32"
    assert tuned(tmp_path / "run", "optimizer.microbatches=8").optimizer.microbatches == 8


@pytest.mark.parametrize("content", ["", "{", '{"machine": 1}', "[" * 100_000])
def test_a_damaged_file_is_one_line(machine: Machine, tmp_path: Path, content: str) -> None:
    (tmp_path / "tuning.json").write_text(content)
    with pytest.raises(UserError, match=r"tuning\.json: damaged; remove the file"):
        tuned(tmp_path)


def test_a_run_that_cannot_be_written_is_one_line(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file")
    with pytest.raises(UserError, match=r"run/tuning\.json: cannot be written"):
        tuned(tmp_path / "run")


def test_training_gets_the_chosen_settings(
    machine: Machine, command: Callable, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[TrainConfig] = []

    def train(config: TrainConfig, **_: Any) -> None:
        trained.append(config)
        raise UserError("no training in this test")

    monkeypatch.setattr("trainer.training.train.train", train)
    outcome = command("train", CONFIG, "auto=true", "--data", data, "--run", tmp_path / "run")
    assert outcome.err.endswith("error: no training in this test\n")
    (config,) = trained
    assert (config.auto, config.input.buckets, config.model.precision) == (True, 3, "bfloat16")
    command("train", CONFIG, "--data", data, "--run", tmp_path / "run")  # without auto, the file is not read
    assert (trained[1].input.buckets, trained[1].model.precision) != (3, "bfloat16")


def test_several_hosts_are_refused(
    machine: Machine, command: Callable, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = {"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(cluster))
    outcome = command("train", CONFIG, "auto=true", "--data", data, "--run", tmp_path / "run")
    assert outcome.code == 2
    assert outcome.err.startswith("error: TF_CONFIG is set, and auto: true measures one host only; tune on one host")
    assert machine.asked == []
