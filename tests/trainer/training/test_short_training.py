"""A few training steps without XLA, which take less time than one compilation."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from tests.trainer.models import NARROW
from trainer.checkpoint.checkpoint_files import list_checkpoints
from trainer.config.model_sizes import SIZES
from trainer.training import train_step as step

pytestmark = [pytest.mark.usefixtures("op_by_op"), pytest.mark.filterwarnings("ignore:Even though the")]

LOSSES = ("loss", "mel", "kl", "flux", "stop", "guided_attention")


@pytest.fixture
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SIZES, "pico", NARROW)


def words(data: Path, *overrides: str, run: Path) -> list[str]:
    """Run the command with few clips per step."""
    settings = ("input.global_frames_per_batch=400", "input.validation_clips=4", "synthesis_eval.clips=0", *overrides)
    return ["train", "configs/train_sample.yaml", *settings, "--data", str(data), "--run", str(run)]


@pytest.mark.slow
@pytest.mark.usefixtures("_narrow")
def test_the_last_step_is_validated_saved_and_logged(command: Callable, data: Path, tmp_path: Path) -> None:
    outcome = command(*words(data, "steps=2", run=tmp_path), "--plain-malloc")
    assert outcome.code == 0, outcome.err
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(row["step"], row["kind"]) for row in rows] == [(2, "train"), (2, "validation")]
    assert all(np.isfinite(row["loss"]) for row in rows)
    assert rows[1].keys() == {"step", "kind", *LOSSES, "validation_s"}
    assert [saved.step for saved in list_checkpoints(tmp_path)] == [0, 2]
    assert f"step 2, loss {rows[0]['loss']:.4f}" in outcome.out
    assert "allocator: unchanged (--plain-malloc)" in outcome.err
    summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert (summary["first_step"], summary["last_step"]) == (1, 2)
    # of one step: part of the time is writing the row itself
    assert 0 < summary["figures"]["frames_per_second"] < 1.01 * rows[0]["frames_per_second"]
    assert "in 1 timed steps, too few to assess the input" in summary["verdicts"][0]


@pytest.mark.slow
@pytest.mark.usefixtures("_narrow")
def test_a_run_without_a_step_left_says_so_and_keeps_its_summary(command: Callable, data: Path, tmp_path: Path) -> None:
    assert command(*words(data, "steps=1", run=tmp_path)).code == 0
    before = (tmp_path / "summary.json").read_bytes()
    outcome = command(*words(data, "steps=1", run=tmp_path))
    assert outcome.code == 0
    assert "nothing left to do" in outcome.out
    assert (tmp_path / "summary.json").read_bytes() == before


@pytest.mark.slow
@pytest.mark.usefixtures("_narrow")
def test_a_run_that_diverges_stops_with_the_reason_and_leaves_weights_that_are_numbers(
    command: Callable, data: Path, tmp_path: Path
) -> None:
    overrides = ("optimizer.learning_rate=1e36", "optimizer.warmup_steps=0", "log_every=1", "checkpoint_every=1")
    outcome = command(*words(data, *overrides, "recovery.max_nonfinite_steps=2", "steps=8", run=tmp_path))
    assert outcome.code == 2
    last = outcome.err.splitlines()[-1]
    assert last.startswith("error: loss or gradient not finite in 2 consecutive steps")
    for saved in list_checkpoints(tmp_path):
        arrays = safetensors.numpy.load_file(saved.path)
        assert [name for name, array in arrays.items() if not np.isfinite(array).all()] == [], saved.step


WEIGHTS = {"mel": 2.0, "kl": 0.3, "flux": 0.25, "stop": 0.75}
TOLD = (
    *(f"loss.{name}={weight}" for name, weight in WEIGHTS.items()),
    *("loss.guided_attention.weight=3", "loss.stop_positive_weight=1", "loss.mel_kind=huber"),
)


@pytest.mark.slow
def test_weights_of_the_loss_parts_and_precision_are_those_that_are_asked_for(
    command: Callable, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The settings reach training, validation and evaluation."""
    judged: dict[str, list[int]] = {"usual": [], "told": []}
    inner = step.TrainStep._differentiate_part

    def run(name: str, *overrides: str) -> tuple[dict, dict]:
        def differentiate(self: step.TrainStep, inputs: step.StepInputs, *others: Any) -> Any:
            judged[name].append(inputs.mel.shape[0])
            return inner(self, inputs, *others)

        monkeypatch.setattr(step.TrainStep, "_differentiate_part", differentiate)
        outcome = command(*words(data, *overrides, "steps=1", run=tmp_path / name))
        assert outcome.code == 0, outcome.err
        trained, validated = map(json.loads, (tmp_path / name / "metrics.jsonl").read_text("utf-8").splitlines())
        return trained, validated

    usual, told = run("usual"), run("told", *TOLD, "optimizer.microbatches=2", "model.precision=float16")
    (whole,) = judged["usual"]
    assert judged["told"] == [-(-whole // 2)] * 2
    evaluated = command("evaluate", "--run", tmp_path / "told", "--data", data)
    assert evaluated.code == 0, evaluated.err
    asked_again = json.loads((tmp_path / "told" / "evaluation.json").read_text(encoding="utf-8"))["losses"]
    for row, guided in ((told[0], 3.0), (told[1], 0.0), (asked_again, 0.0)):
        sums = sum(weight * row[name] for name, weight in WEIGHTS.items()) + guided * row["guided_attention"]
        assert row["loss"] == pytest.approx(sums, rel=1e-4)
    for one, other in zip(usual, told, strict=True):  # the same weights and draws: what differs are the terms
        assert other["stop"] < 0.9 * one["stop"]
        assert other["mel"] < 0.9 * one["mel"]
    assert asked_again["loss"] == pytest.approx(told[1]["loss"], rel=1e-4)
    assert "loss_scale" in told[0]
    assert "loss_scale" not in usual[0]
    arrays = safetensors.numpy.load_file(list_checkpoints(tmp_path / "told")[-1].path)
    assert "optimizer/loss_scale" in arrays
