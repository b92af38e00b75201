"""`myxtts-train evaluate`: what a run's own validation said, asked again of its checkpoint."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from shared.dataset import Dataset
from tests.trainer import fleets
from tests.trainer.conftest import built
from tests.trainer.models import same_for_all
from trainer import step
from trainer.model.size import SIZES, Size, Stack

pytestmark = pytest.mark.filterwarnings("ignore:Even though the")


@pytest.fixture
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model and the noise of those runs."""
    monkeypatch.setattr(step, "Noise", same_for_all)
    monkeypatch.setitem(SIZES, "pico", Size(Stack(16, 1), Stack(16, 1), Stack(16, 1), 8, 8, 8))


@pytest.mark.slow
@pytest.mark.usefixtures("_narrow")
def test_a_checkpoint_is_judged_as_in_training(on_devices: fleets.Runs, command: Callable) -> None:
    """By the average of its weights, which are others: the run has ema_decay=0.9."""
    run, data = on_devices.one, on_devices.one.parent / "data"
    wanted = fleets.rows(run, kind="validation")[-1]
    outcome = command("evaluate", "--run", run, "--data", data, "--checkpoint", "last")
    assert outcome.code == 0, outcome.err
    judged = json.loads((run / "evaluation.json").read_text(encoding="utf-8"))
    assert (judged["step"], judged["clips"]) == (wanted["step"], Dataset.open(data).manifest("validation").num_rows)
    found = judged["losses"] | judged["spoken"]
    assert {"loss", "mel", "kl", "flux", "stop", "guided_attention", "free_mel_distance_db"} <= found.keys()
    for name, value in found.items():
        assert value == pytest.approx(wanted[name], rel=1e-4), name
        assert f"{value:.4f}" in outcome.out
    assert f"the checkpoint, of step {wanted['step']}" in outcome.out


@pytest.mark.slow
def test_data_without_a_clip_to_judge_by_are_a_line(on_devices: fleets.Runs, command: Callable, tmp_path: Path) -> None:
    data = built(tmp_path / "data", overrides=["validation_fraction=0"])
    outcome = command("evaluate", "--run", on_devices.one, "--data", data)
    assert outcome.code == 2
    assert outcome.err == (
        f"error: {data}: no clip of the validation split is short enough to judge by, or there is none\n"
    )


def test_a_folder_without_a_run_is_a_line(data: Path, command: Callable, tmp_path: Path) -> None:
    outcome = command("evaluate", "--run", tmp_path, "--data", data)
    assert outcome.code == 2
    assert outcome.err == f"error: {tmp_path}: no checkpoint yet; `make train RUN={tmp_path}` writes one\n"
